#include "ring/call.h"

#include "core/process.h"
#include "ring/ring.h"

void inbox_open(struct inbox *inbox, int process) {
    lock_take(&inbox->lock);
    inbox->process = process;
    inbox->calls = inbox->called = inbox->servers = (struct wait_queue){.lock = &inbox->lock};
    lock_drop(&inbox->lock);
}

void inbox_close(struct inbox *inbox) {
    lock_take(&inbox->lock);
    inbox->process = 0;
    while (inbox->calls.head != NULL)
        wake_thread(&inbox->calls, inbox->calls.head, -RING_ESRCH);
    while (inbox->called.head != NULL)
        wake_thread(&inbox->called, inbox->called.head, -RING_ESRCH);
    lock_drop(&inbox->lock);
}

int64_t call(int id, uint64_t first, uint64_t second, struct ring_wait *wait, uint64_t *answer) {
    struct thread *me = current();
    struct inbox *inbox = process_inbox(id);
    if (inbox == NULL)
        return -RING_ESRCH;
    if (!wait->allowed) {
        wait->later = true;
        return -RING_EAGAIN;
    }
    lock_take(&inbox->lock);
    if (inbox->process != id) {
        lock_drop(&inbox->lock);
        return -RING_ESRCH;
    }
    me->call_words[0] = first;
    me->call_words[1] = second;
    if (inbox->servers.head != NULL)
        wake_thread(&inbox->servers, inbox->servers.head, 0);
    int result = wait_on(&inbox->calls, wait->deadline);
    *answer = me->call_words[0];
    return result;
}

int64_t reply(int caller, uint64_t answer) {
    struct inbox *inbox = current()->process->inbox;
    int64_t result = -RING_ESRCH;
    lock_take(&inbox->lock);
    for (struct thread *t = inbox->called.head; t != NULL; t = t->next)
        if (t->id == caller) {
            t->call_words[0] = answer;
            wake_thread(&inbox->called, t, 0);
            result = 0;
            break;
        }
    lock_drop(&inbox->lock);
    return result;
}

int64_t next_call(struct ring_wait *wait, uint64_t words[2]) {
    struct inbox *inbox = current()->process->inbox;
    for (;;) {
        lock_take(&inbox->lock);
        struct thread *caller = inbox->calls.head;
        if (caller != NULL) {
            wait_move(&inbox->calls, &inbox->called, caller);
            words[0] = caller->call_words[0];
            words[1] = caller->call_words[1];
            lock_drop(&inbox->lock);
            return caller->id;
        }
        if (!wait->allowed) {
            wait->later = true;
            lock_drop(&inbox->lock);
            return -RING_EAGAIN;
        }
        int result = wait_on(&inbox->servers, wait->deadline);
        if (result != 0)
            return result;
    }
}
