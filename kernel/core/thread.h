// Threads, blocking and the switch between them. A thread is in one of four states, and in one place:
// RUNNING on a CPU, RUNNABLE in a queue of the scheduler, BLOCKED in a wait queue, DEAD nowhere.
//
// Locks: wait queues carry their own (process or park class); the scheduler's come after them.
// Interrupt handlers may call thread_expire, thread_tick and thread_poked only.
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/lock.h"
#include "core/percpu.h"
#include "ring/ring.h"
#include "sched/policy.h"

struct process;

enum thread_state { THREAD_RUNNING, THREAD_RUNNABLE, THREAD_BLOCKED, THREAD_DEAD, THREAD_STATES };

struct wait_queue {
    struct lock *lock;
    struct thread *head, *tail;
};

struct thread {
    uint64_t stack; // saved stack pointer, while it does not run
    uint64_t stack_top;
    struct process *process; // NULL for idle threads
    unsigned slot;           // index in the table, and of its kernel stack
    int id;
    struct sched_entity entity;
    unsigned ran_on; // CPU + 1 of its last turn, 0: none yet

    _Atomic bool on_cpu; // its stack is in use; cleared by whoever runs next on that CPU
    _Atomic bool killed;

    // Guarded by the lock of the wait queue that it is in.
    _Atomic(struct wait_queue *) waits_in;
    struct thread *next, *previous;
    uint64_t key; // park: which word it waits for
    int wait_result;
    uint64_t wait_count; // tells one wait from the next

    // Guarded by the timer lock of timer_cpu.
    uint64_t deadline; // 0: none
    struct thread *timer_next;
    unsigned timer_cpu;

    // Guarded by family_lock (core/process.c).
    bool ended, buried, collected;
    int status;
    struct thread *sibling; // list of its process's threads, or of free slots
    struct wait_queue joiners;
    uint64_t call_words[2]; // while it waits for a reply; guarded by the inbox's lock

    // Where it begins in user mode.
    uint64_t entry, user_stack, argument[2];
    unsigned user_slot; // 0: main
    struct ring_owner ring;

    // Books, in cycles; written by whoever changes the state.
    enum thread_state state;
    uint64_t since, born, died;
    uint64_t spent[THREAD_STATES];
};

extern struct thread threads[MAX_THREADS];

void thread_idle_init(unsigned cpu); // the running code becomes the CPU's idle thread
_Noreturn void thread_idle(void);
// Fills in a free slot whose kernel stack is there; thread_start makes it run.
void thread_setup(struct thread *thread, struct process *process, uint64_t weight, unsigned latency);
void thread_start(struct thread *thread);
_Noreturn void thread_begin(void); // where a new thread begins, from trap.S
void thread_close_books(void);     // the caller is DEAD from here on: whoever waits for it may be told
_Noreturn void thread_end(void);   // the caller is no more; process_bury is told once its stack is left

// Sleeps in the queue, whose lock is held and is dropped. 0, or -RING_ETIMEDOUT or -RING_EINTR.
int wait_on(struct wait_queue *queue, uint64_t deadline);
void wake_thread(struct wait_queue *queue, struct thread *thread, int result);         // its lock is held
void wait_move(struct wait_queue *from, struct wait_queue *to, struct thread *thread); // one lock, held
// It is killed: whatever it waits for, it goes on. `held`: a wait queue's lock that the caller has.
void thread_interrupt(struct thread *thread, const struct lock *held);
void thread_expire(struct thread *thread, uint64_t count); // timer interrupt: a deadline has passed

void thread_yield(void);
uint64_t thread_cycles(void); // what the caller has run
void thread_tick(void);       // timer interrupt: the slice is over
void thread_poked(void);      // reschedule interrupt
void thread_reschedule(void); // on the way to user mode: switch if asked to
// Between two steps of a long operation, with no lock held: interrupts are taken, and others may run.
void thread_breathe(void);

static inline struct thread *current(void) {
    return this_cpu()->current;
}

#endif
