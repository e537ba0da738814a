// wait_end, which comes from outside (a deadline, a kill), against waits that are over when it gets the lock:
// what the thread waited for, or the thread, has ended by then, and its slot is in use anew.
//
// The file under test is part of this one, with other names for what host/test_park.c has a version of. A
// hook does what another CPU does before the lock is taken.
#define wait_on kernel_wait_on
#define wake_later kernel_wake_later
#define wake_now kernel_wake_now
#define lock_take take_after_hook
#include "core/thread_wait.c"
#undef lock_take
#include <stdlib.h>

#include "host/host.h"

#define NUMBER 7 // of the thread's wait

static struct lock first = LOCK(process), second = LOCK(park);
static struct wait_queue queue, other;
static struct thread waiter;
static unsigned ready;
static void (*hook)(void);

void lock_take(struct lock *lock);

void take_after_hook(struct lock *lock) {
    if (hook != NULL)
        hook();
    if (!lock_try(lock, host_cpu))
        abort(); // an earlier call has not dropped it
}
void thread_ready(struct thread *thread, enum sched_why why) {
    (void)why;
    ready += thread == &waiter;
}
struct thread *thread_choose(struct cpu *cpu, bool search) {
    (void)cpu, (void)search;
    return NULL;
}
void thread_switch(struct thread *next, bool requeue) {
    (void)next, (void)requeue;
}
void timer_sleep(struct thread *thread) {
    (void)thread;
}
void timer_cancel(struct thread *thread) {
    (void)thread;
}

static void wait_in_queue(void (*meanwhile)(void)) {
    queue = (struct wait_queue){.lock = &first};
    other = (struct wait_queue){.lock = &second};
    waiter = (struct thread){.wait_count = NUMBER};
    queue_add(&queue, &waiter);
    ready = 0;
    hook = meanwhile;
}

static bool both_free(void) {
    return atomic_load(&first.owner) == 0 && atomic_load(&second.owner) == 0;
}

static int ends_that_wait_only(uint64_t seed) {
    uint64_t same = NUMBER, later = NUMBER + 1 + seed;
    wait_in_queue(NULL);
    wait_end(&waiter, -RING_ETIMEDOUT, &later, NULL);
    NEED(ready == 0 && queue.head == &waiter && both_free());
    wait_end(&waiter, -RING_ETIMEDOUT, &same, NULL);
    NEED(ready == 1 && queue.head == NULL && waiter.wait_result == -RING_ETIMEDOUT && both_free());
    wait_end(&waiter, -RING_ETIMEDOUT, &same, NULL);
    NEED(ready == 1);
    return 0;
}

static int keeps_a_held_lock(uint64_t seed) {
    (void)seed;
    wait_in_queue(NULL);
    lock_take(&first);
    wait_end(&waiter, -RING_EINTR, NULL, &first);
    NEED(ready == 1 && atomic_load(&first.owner) != 0);
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
    NEED(ready == 0 && both_free());
    wait_in_queue(use_queue_anew);
    queue.lock = NULL; // already before the lock is looked for
    wait_end(&waiter, -RING_ETIMEDOUT, NULL, NULL);
    NEED(ready == 0 && both_free());
    wait_in_queue(NULL);
    atomic_store(&waiter.wait_lock, NULL); // the thread's own slot is about to be used anew
    wait_end(&waiter, -RING_ETIMEDOUT, NULL, NULL);
    NEED(ready == 0 && both_free());
    return 0;
}

static int leaves_a_wait_elsewhere(uint64_t seed) {
    (void)seed;
    wait_in_queue(wait_elsewhere);
    wait_end(&waiter, -RING_EINTR, NULL, NULL);
    NEED(ready == 0 && other.head == &waiter && both_free());
    return 0;
}

const struct check wait_checks[] = {
    {"wait-end", ends_that_wait_only},
    {"wait-end-held", keeps_a_held_lock},
    {"wait-end-late", leaves_a_wait_that_is_over},
    {"wait-end-elsewhere", leaves_a_wait_elsewhere},
    {NULL, NULL},
};
