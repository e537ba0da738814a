#include "core/thread_wait.h"

#include "arch/tsc.h"
#include "core/lock.h"
#include "core/print.h"
#include "core/thread.h"
#include "core/thread_switch.h"
#include "core/timer.h"
#include "ring/abi.h"

static void queue_add(struct wait_queue *queue, struct thread *thread) {
    assert(atomic_load_explicit(&thread->waits_in, memory_order_relaxed) == NULL);
    thread->next = NULL;
    thread->previous = queue->tail;
    if (queue->tail)
        queue->tail->next = thread;
    else
        queue->head = thread;
    queue->tail = thread;
    atomic_store_explicit(&thread->waits_in, queue, memory_order_release);
}

static void queue_remove(struct wait_queue *queue, struct thread *thread) {
    *(thread->previous ? &thread->previous->next : &queue->head) = thread->next;
    *(thread->next ? &thread->next->previous : &queue->tail) = thread->previous;
    atomic_store_explicit(&thread->waits_in, NULL, memory_order_release);
}

void wait_move(struct wait_queue *from, struct wait_queue *to, struct thread *thread) {
    queue_remove(from, thread);
    queue_add(to, thread);
}

int wait_on(struct wait_queue *queue, uint64_t deadline) {
    struct thread *me = current();
    // seq_cst, with thread_interrupt: either it finds this thread in the queue, or `killed` is seen here
    queue_add(queue, me);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&me->killed, memory_order_relaxed)) {
        queue_remove(queue, me);
        lock_drop(queue->lock);
        return -RING_EINTR;
    }
    me->wait_count++;
    me->wait_result = 0;
    me->deadline = deadline;
    thread_account(me, THREAD_BLOCKED, now());
    if (deadline != 0)
        timer_sleep(me);
    lock_drop(queue->lock);
    thread_leave();
    if (deadline != 0)
        timer_cancel(me);
    return me->wait_result;
}

void wake_thread(struct wait_queue *queue, struct thread *thread, int result) {
    queue_remove(queue, thread);
    thread->wait_result = result;
    thread_ready(thread, SCHED_WAKE);
}

void wait_end(struct thread *thread, int result, const uint64_t *count, const struct lock *held) {
    // acquire: pairs with the release in queue_add, which makes the queue's lock visible
    struct wait_queue *queue = atomic_load_explicit(&thread->waits_in, memory_order_acquire);
    if (queue == NULL)
        return;
    if (queue->lock != held)
        lock_take(queue->lock);
    struct wait_queue *still = atomic_load_explicit(&thread->waits_in, memory_order_relaxed);
    if (still != NULL && still->lock == queue->lock && (count == NULL || *count == thread->wait_count))
        wake_thread(still, thread, result);
    if (queue->lock != held)
        lock_drop(queue->lock);
}
