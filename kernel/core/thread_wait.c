#include "core/thread_wait.h"

#include "arch/tsc.h"
#include "core/fault.h"
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
    atomic_store_explicit(&thread->wait_lock, queue->lock, memory_order_relaxed);
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

// `late` (fault=late-store): resets the result when it has no lock any more, and may lose that of its waker.
FAULT_LINES int wait_with(bool late, struct wait_queue *queue, uint64_t deadline) {
    struct thread *me = current();
    // seq_cst, with thread_interrupt: either it finds this thread in the queue, or `asked` is seen here
    queue_add(queue, me);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&me->asked, memory_order_relaxed) & THREAD_KILLED) {
        queue_remove(queue, me);
        lock_drop(queue->lock);
        return -RING_EINTR;
    }
    me->wait_count++;
    if (!late)
        me->wait_result = 0;
    me->deadline = deadline;
    thread_account(me, THREAD_BLOCKED, now());
    if (deadline != 0)
        timer_sleep(me);
    lock_drop(queue->lock);
    if (late)
        __atomic_store_n(&me->wait_result, 0, __ATOMIC_RELAXED);
    thread_leave();
    if (deadline != 0)
        timer_cancel(me);
    return me->wait_result;
}

int wait_on(struct wait_queue *queue, uint64_t deadline) {
    return wait_with(false, queue, deadline);
}
FAULT_COPY __attribute__((flatten)) int wait_on_late(struct wait_queue *queue, uint64_t deadline) {
    return wait_with(true, queue, deadline);
}

void wake_thread(struct wait_queue *queue, struct thread *thread, int result) {
    queue_remove(queue, thread);
    thread->wait_result = result;
    thread_ready(thread, SCHED_WAKE);
}

// Nothing else can wake the thread meanwhile: whoever would end its wait finds it in no queue.
void wake_later(struct wake_list *list, struct wait_queue *queue, struct thread *thread, int result) {
    queue_remove(queue, thread);
    thread->wait_result = result;
    thread->next = NULL;
    *(list->last ? &list->last->next : &list->first) = thread;
    list->last = thread;
}

void wake_now(struct wake_list *list) {
    for (struct thread *thread = list->first, *next; thread != NULL; thread = next) {
        next = thread->next; // once it runs, it may wait again
        thread_ready(thread, SCHED_WAKE);
    }
}

// The wait may be over before its lock is taken, and the thread, or what it waited for, may have ended and
// its slot be in use anew. So the queue is read under the lock only, and a lock is never initialised twice.
void wait_end(struct thread *thread, int result, const uint64_t *count, const struct lock *held) {
    // acquire: pairs with the release in queue_add, which makes the lock visible
    if (atomic_load_explicit(&thread->waits_in, memory_order_acquire) == NULL)
        return;
    struct lock *lock = atomic_load_explicit(&thread->wait_lock, memory_order_relaxed);
    if (lock == NULL)
        return; // another thread has the slot
    if (lock != held)
        lock_take(lock);
    // acquire, as above: if this is a queue with another lock, wait_lock says so
    struct wait_queue *queue = atomic_load_explicit(&thread->waits_in, memory_order_acquire);
    bool guarded = atomic_load_explicit(&thread->wait_lock, memory_order_relaxed) == lock;
    if (queue != NULL && guarded && (count == NULL || *count == thread->wait_count))
        wake_thread(queue, thread, result);
    if (lock != held)
        lock_drop(lock);
}
