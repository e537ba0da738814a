// wait_end, which comes from outside (a deadline, a kill), against waits that are over when it gets the lock:
// what the thread waited for, or the thread, has ended by then, and its slot is in use anew.
//
// The file under test is part of this one. A hook does what another CPU does before the lock is taken.
#include "core/thread_wait.c"

#include <string.h>

#include "host/host.h"

#define NUMBER 7 // of the thread's wait

static struct lock first = LOCK(process), second = LOCK(park);
static struct wait_queue queue, other;
static struct thread waiter;

static void wait_in_queue(void (*meanwhile)(void)) {
    queue = (struct wait_queue){.lock = &first};
    other = (struct wait_queue){.lock = &second};
    waiter = (struct thread){.wait_count = NUMBER};
    queue_add(&queue, &waiter);
    host_forget_wakes();
    host_hook = meanwhile;
}

static bool both_free(void) {
    return atomic_load(&first.owner) == 0 && atomic_load(&second.owner) == 0;
}

static int ends_that_wait_only(uint64_t seed) {
    uint64_t same = NUMBER, later = NUMBER + 1 + seed;
    wait_in_queue(NULL);
    wait_end(&waiter, -RING_ETIMEDOUT, &later, NULL);
    NEED(host_wakes() == 0 && queue.head == &waiter && both_free());
    wait_end(&waiter, -RING_ETIMEDOUT, &same, NULL);
    NEED(host_wakes() == 1 && queue.head == NULL && waiter.wait_result == -RING_ETIMEDOUT && both_free());
    wait_end(&waiter, -RING_ETIMEDOUT, &same, NULL);
    NEED(host_wakes() == 1);
    return 0;
}

static int keeps_a_held_lock(uint64_t seed) {
    (void)seed;
    wait_in_queue(NULL);
    lock_take(&first);
    wait_end(&waiter, -RING_EINTR, NULL, &first);
    NEED(host_wakes() == 1 && atomic_load(&first.owner) != 0);
    lock_drop(&first);
    return 0;
}

static void use_queue_anew(void) {
    queue_remove(&queue, &waiter);
    queue = (struct wait_queue){0};
}
static void wait_elsewhere(void) {
    queue_remove(&queue, &waiter);
    queue_add(&other, &waiter);
}

static int leaves_a_wait_that_is_over(uint64_t seed) {
    (void)seed;
    wait_in_queue(use_queue_anew);
    wait_end(&waiter, -RING_ETIMEDOUT, NULL, NULL);
    NEED(host_wakes() == 0 && both_free());
    wait_in_queue(use_queue_anew);
    queue.lock = NULL; // already before the lock is looked for
    wait_end(&waiter, -RING_ETIMEDOUT, NULL, NULL);
    NEED(host_wakes() == 0 && both_free());
    wait_in_queue(NULL);
    atomic_store(&waiter.wait_lock, NULL); // the thread's own slot is about to be used anew
    wait_end(&waiter, -RING_ETIMEDOUT, NULL, NULL);
    NEED(host_wakes() == 0 && both_free());
    return 0;
}

static int leaves_a_wait_elsewhere(uint64_t seed) {
    (void)seed;
    wait_in_queue(wait_elsewhere);
    wait_end(&waiter, -RING_EINTR, NULL, NULL);
    NEED(host_wakes() == 0 && other.head == &waiter && both_free());
    return 0;
}

// ---- entering without the lock

static uint32_t word;

static void enter_as_waiter(void (*meanwhile)(void)) {
    queue = (struct wait_queue){.lock = &first};
    waiter = (struct thread){.wait_count = NUMBER};
    this_cpu()->current = &waiter;
    host_forget_wakes();
    host_hook = meanwhile;
}

static void kill_waiter(void) {
    atomic_store(&waiter.asked, THREAD_KILLED);
    wait_end(&waiter, -RING_EINTR, NULL, NULL);
}

static int sees_a_late_kill(uint64_t seed) {
    (void)seed;
    enter_as_waiter(kill_waiter); // it is about to enter: in no list yet
    NEED(wait_while(&queue, &first, &word, word, 1000) == -RING_EINTR);
    NEED(host_wakes() == 0 && wait_none(&queue) && both_free());
    return 0;
}

static void change_word(void) {
    word++;
}

static void change_and_hook_a_kill(void) {
    word++;
    host_hook = kill_waiter;
}

// The kill comes when the thread is in the queue, and about to leave it, for which it wants the lock: a killer
// that waited with it until the thread sleeps would wait for ever.
static int is_killed_without_the_lock(uint64_t seed) {
    (void)seed;
    enter_as_waiter(change_and_hook_a_kill);
    NEED(wait_while(&queue, &first, &word, word, 1000) == -RING_EINTR);
    NEED(host_wakes() == 1 && host_wakes_held() == 0 && wait_none(&queue) && both_free());
    return 0;
}

// fault=wake-window
static int sleeps_if_it_looks_early(uint64_t seed) {
    if (seed % 8 != 1)
        return 0; // waits for a deadline
    enter_as_waiter(change_word);
    NEED(wait_while_early(&queue, &first, &word, word, 1) == -RING_ETIMEDOUT);
    NEED(host_wakes() == 1 && wait_none(&queue) && both_free());
    enter_as_waiter(change_word);
    NEED(wait_while(&queue, &first, &word, word, 1) == -RING_EAGAIN);
    NEED(host_wakes() == 0 && wait_none(&queue) && both_free());
    return 0;
}

static void push(struct thread *thread) {
    thread->next = atomic_load(&queue.coming);
    atomic_store(&thread->wait_lock, &first);
    atomic_store(&thread->waits_in, &queue);
    atomic_store(&queue.coming, thread);
}

static bool none_meanwhile;
static void look_for_waiters(void) {
    none_meanwhile = wait_none(&queue);
}

static int is_never_missed_on_its_way(uint64_t seed) {
    (void)seed;
    enter_as_waiter(NULL);
    NEED(wait_none(&queue));
    push(&waiter);
    NEED(!wait_none(&queue));
    host_hook = look_for_waiters; // when the stack is empty, and the queue not yet whole
    NEED(wait_gather(&queue) == &waiter && !none_meanwhile);
    queue_remove(&queue, &waiter);
    NEED(wait_none(&queue) && wait_gather(&queue) == NULL);
    return 0;
}

// Threads come with and without the lock, and are taken out from anywhere: those left are in their order.
#define MANY 8
static struct thread many[MANY];

static int keeps_the_order(uint64_t seed) {
    struct thread *model[MANY];
    unsigned count = 0;
    memset(many, 0, sizeof many);
    queue = (struct wait_queue){.lock = &first};
    for (unsigned step = 0; step < 400; step++) {
        uint64_t r = host_random(&seed);
        struct thread *thread = &many[r % MANY];
        if (atomic_load(&thread->waits_in) != NULL) {
            wait_gather(&queue);
            unsigned at = 0;
            while (model[at] != thread)
                at++;
            if (r >> 32 & 1)
                thread = model[at = 0]; // the head, which is the usual one
            queue_remove(&queue, thread);
            memmove(&model[at], &model[at + 1], (--count - at) * sizeof *model);
        } else {
            if (r >> 32 & 1) {
                push(thread);
            } else {
                wait_gather(&queue);
                queue_add(&queue, thread);
            }
            model[count++] = thread;
            continue;
        }
        struct thread *t = queue.head;
        for (unsigned i = 0; i < count; t = t->next, i++)
            NEED(t == model[i] && t->linked && (i == 0 || t->previous == model[i - 1]));
        NEED(t == NULL && queue.tail == (count ? model[count - 1] : NULL));
    }
    return 0;
}

const struct check wait_checks[] = {
    {"wait-end", ends_that_wait_only},
    {"wait-end-held", keeps_a_held_lock},
    {"wait-end-late", leaves_a_wait_that_is_over},
    {"wait-end-elsewhere", leaves_a_wait_elsewhere},
    {"wait-late-kill", sees_a_late_kill},
    {"wait-kill-unlocked", is_killed_without_the_lock},
    {"wait-early-look", sleeps_if_it_looks_early},
    {"wait-on-the-way", is_never_missed_on_its_way},
    {"wait-order", keeps_the_order},
    {NULL, NULL},
};
