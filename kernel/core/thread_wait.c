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
    thread->linked = true;
    atomic_store_explicit(&thread->wait_lock, queue->lock, memory_order_relaxed);
    atomic_store_explicit(&thread->waits_in, queue, memory_order_release);
}

static void queue_remove(struct wait_queue *queue, struct thread *thread) {
    struct thread *before = thread == queue->head ? NULL : thread->previous;
    if (before != NULL)
        before->next = thread->next;
    else
        __atomic_store_n(&queue->head, thread->next, __ATOMIC_RELAXED); // wait_none reads it
    if (thread == queue->tail)
        queue->tail = before;
    else if (before != NULL)
        thread->next->previous = before;
    thread->linked = false;
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

// No waker has more to do with this thread than to take it out of its queue, until it is off its stack
// (settle in core/thread.c).
static int sleep_now(struct thread *me, uint64_t deadline) {
    thread_account(me, THREAD_BLOCKED, now());
    if (deadline != 0) {
        me->deadline = deadline;
        timer_sleep(me);
    }
    thread_leave();
    if (deadline != 0)
        timer_cancel(me);
    return me->wait_result;
}

// The thread is on the stack, or in the queue, or was taken out: then its waker waits until it sleeps.
static int leave(struct thread *me, struct wait_queue *queue, struct lock *lock, int result) {
    lock_take(lock);
    wait_gather(queue);
    bool mine = me->linked;
    if (mine)
        queue_remove(queue, me);
    lock_drop(lock);
    return mine ? result : sleep_now(me, 0);
}

// `early` (fault=wake-window): looks at the word just before it is on the stack. A waker in between finds
// nobody. The window has no call and as few instructions as possible: an ordinary turn of the clock hardly
// ever ends in it.
FAULT_LINES int wait_while_with(bool early, struct wait_queue *queue, struct lock *lock, const uint32_t *word,
                                uint32_t expected, uint64_t deadline) {
    struct thread *me = current();
    // The stack is probably empty. A look at it would fetch its line twice: to read, and then to write.
    struct thread *below = NULL;
    me->next = NULL;
    me->wait_count++;
    me->wait_result = 0;
    // All of this before the thread is on the stack: from then on wakers write to it.
    atomic_store_explicit(&me->wait_lock, lock, memory_order_relaxed);
    atomic_store_explicit(&me->waits_in, queue, memory_order_release);
    bool differs = early && __atomic_load_n(word, __ATOMIC_ACQUIRE) != expected;
    host_meanwhile();
    // seq_cst, with wait_none and wait_gather: either they find this thread, or it sees what was changed
    // before
    while (!atomic_compare_exchange_weak_explicit(&queue->coming, &below, me, memory_order_seq_cst,
                                                  memory_order_relaxed))
        me->next = below;
    if (!early)
        differs = __atomic_load_n(word, __ATOMIC_SEQ_CST) != expected;
    if (differs)
        return leave(me, queue, lock, -RING_EAGAIN);
    if (atomic_load_explicit(&me->asked, memory_order_seq_cst) & THREAD_KILLED)
        return leave(me, queue, lock, -RING_EINTR);
    return sleep_now(me, deadline);
}

int wait_while(struct wait_queue *queue, struct lock *lock, const uint32_t *word, uint32_t expected,
               uint64_t deadline) {
    return wait_while_with(false, queue, lock, word, expected, deadline);
}
FAULT_COPY int wait_while_early(struct wait_queue *queue, struct lock *lock, const uint32_t *word,
                                uint32_t expected, uint64_t deadline) {
    return wait_while_with(true, queue, lock, word, expected, deadline);
}

// The head is not NULL while threads are on their way from the stack to the queue: wait_none has no lock.
// There is no look at the stack before the exchange, as in wait_while.
struct thread *wait_gather(struct wait_queue *queue) {
    bool empty = queue->head == NULL;
    if (empty)
        __atomic_store_n(&queue->head, current(), __ATOMIC_RELAXED);
    // seq_cst, with wait_while; release: whoever sees the stack empty sees the head
    struct thread *next = NULL, *last = atomic_exchange_explicit(&queue->coming, NULL, memory_order_seq_cst);
    if (last == NULL) {
        if (empty)
            __atomic_store_n(&queue->head, NULL, __ATOMIC_RELAXED);
        return NULL;
    }
    host_meanwhile();
    struct thread *first = last;
    for (;;) {
        struct thread *before = first->next;
        first->next = next;
        first->previous = before;
        first->linked = true;
        if (before == NULL)
            break;
        next = first;
        first = before;
    }
    first->previous = queue->tail;
    if (queue->tail)
        queue->tail->next = first;
    else
        __atomic_store_n(&queue->head, first, __ATOMIC_RELAXED);
    queue->tail = last;
    return first;
}

// If the stack is empty, who was on it is in the queue, or on the way there, which the head tells as well. So
// a NULL there means that they were taken out.
bool wait_none(const struct wait_queue *queue) {
    // seq_cst, with wait_while: the caller has changed what they wait for
    atomic_thread_fence(memory_order_seq_cst);
    // acquire: pairs with the release in wait_gather
    return atomic_load_explicit(&queue->coming, memory_order_acquire) == NULL &&
           __atomic_load_n(&queue->head, __ATOMIC_RELAXED) == NULL;
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
    if (queue != NULL && guarded)
        wait_gather(queue);
    // not linked: it is about to enter, and looks at `asked` then
    struct wake_list list = {0};
    if (queue != NULL && guarded && thread->linked && (count == NULL || *count == thread->wait_count))
        wake_later(&list, queue, thread, result);
    if (lock != held)
        lock_drop(lock);
    wake_now(&list); // without that lock: a thread that is about to leave the queue again wants it (leave)
}
