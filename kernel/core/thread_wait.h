// Wait queues: where BLOCKED threads are. A queue names the lock that guards it (process or park class). The
// caller of wait_on, wake_thread, wake_later and wait_move holds that lock. Waking takes a run queue's lock
// after it, and may wait for another CPU; so those who wake under a lock that is in demand take the threads
// out of their queue first (wake_later), and wake them when they have dropped it (wake_now).
//
// A thread may also enter a queue without its lock (wait_while), on a stack of those that come. Whoever has
// the lock and needs them moves them into the queue (wait_gather), in the order in which they came.
#ifndef CORE_THREAD_WAIT_H
#define CORE_THREAD_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lock;
struct thread;

struct wait_queue {
    struct lock *lock;
    // The head's `previous` means nothing: taking it out writes to no other thread.
    struct thread *head, *tail;
    _Atomic(struct thread *) coming; // without the lock, the last one first
};

// Blocks the current thread in the queue; the lock is released before the switch. Returns the result given to
// wake_thread, or -RING_ETIMEDOUT, or -RING_EINTR if the thread is killed. deadline 0: none.
int wait_on(struct wait_queue *queue, uint64_t deadline);
int wait_on_late(struct wait_queue *queue, uint64_t deadline); // core/fault.h

// Blocks the current thread in the queue while the word is `expected`, without the queue's lock. The lock is
// told, since such a queue need not name it. The thread looks at the word once others can find it: either it
// sees their change, or who made it and then calls wait_none, or takes the lock, finds the thread. Result: as
// above, or -RING_EAGAIN if the word is another.
int wait_while(struct wait_queue *queue, struct lock *lock, const uint32_t *word, uint32_t expected,
               uint64_t deadline);
int wait_while_early(struct wait_queue *queue, struct lock *lock, const uint32_t *word, uint32_t expected,
                     uint64_t deadline); // core/fault.h
// With the lock: moves those that came without it into the queue. Returns the first of them, or NULL.
struct thread *wait_gather(struct wait_queue *queue);
// Without the lock, after a change: nobody waits who has not seen it.
bool wait_none(const struct wait_queue *queue);

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
