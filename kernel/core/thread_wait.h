// Wait queues: where BLOCKED threads are. A queue names the lock that guards it (process or park class). The
// caller of wait_on, wake_thread, wake_later and wait_move holds that lock. Waking takes a run queue's lock
// after it, and may wait for another CPU; so those who wake under a lock that is in demand take the threads out
// of their queue first (wake_later), and wake them when they have dropped it (wake_now).
#ifndef CORE_THREAD_WAIT_H
#define CORE_THREAD_WAIT_H

#include <stdint.h>

struct lock;
struct thread;

struct wait_queue {
    struct lock *lock;
    struct thread *head, *tail;
};

// Blocks the current thread in the queue; the lock is released before the switch. Returns the result given to
// wake_thread, or -RING_ETIMEDOUT, or -RING_EINTR if the thread is killed. deadline 0: none.
int wait_on(struct wait_queue *queue, uint64_t deadline);
int wait_on_late(struct wait_queue *queue, uint64_t deadline); // core/fault.h
void wake_thread(struct wait_queue *queue, struct thread *thread, int result);
// Threads that are BLOCKED and in no queue, in the order in which they will be woken. Starts as {0}.
struct wake_list {
    struct thread *first, *last;
};
void wake_later(struct wake_list *list, struct wait_queue *queue, struct thread *thread, int result);
void wake_now(struct wake_list *list); // no lock is held
// Moves a waiting thread to another queue that has the same lock.
void wait_move(struct wait_queue *from, struct wait_queue *to, struct thread *thread);

// Ends the thread's wait from outside, if it waits. With `count`, only if that is the wait with this number
// (wait_count). Takes the queue's lock, unless that is `held`.
void wait_end(struct thread *thread, int result, const uint64_t *count, const struct lock *held);

#endif
