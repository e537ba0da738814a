// Threads and the switch between them. A thread is in one of four states, and each state has its place:
// RUNNING on a CPU, RUNNABLE in a run queue, BLOCKED in a wait queue (core/thread_wait.h), DEAD in none.
//
// Locks: wait queues have their own (process or park class); the scheduler's come after them. Interrupt
// handlers may call thread_expire, thread_tick and thread_poked only.
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lock.h"
#include "core/percpu.h"
#include "core/thread_wait.h"
#include "ring/ring.h"
#include "sched/policy.h"

struct process;

enum __attribute__((packed)) thread_state {
    THREAD_RUNNING,
    THREAD_RUNNABLE,
    THREAD_BLOCKED,
    THREAD_DEAD,
    THREAD_STATES
};

// What others ask of a thread. It looks before it waits, and on its way to user mode.
enum thread_asked { THREAD_KILLED = 1, THREAD_STOPPED = 2 }; // stopped: core/program.h

struct thread {
    // What a wake-up writes is in the first three cache lines: they go from the CPU where the thread slept to
    // that of its waker, and to the one where it runs next.
    _Alignas(128) uint64_t stack; // saved stack pointer, while it does not run
    struct process *process;      // NULL for idle threads
    _Atomic bool on_cpu;          // its stack is in use; cleared by the next thread on that CPU
    _Atomic uint8_t asked;        // of enum thread_asked
    // Time accounting, in cycles: state, spent, since; written by the CPU that changes the state.
    enum thread_state state;
    unsigned ran_on; // CPU + 1 on which it ran last, 0: none yet
    struct sched_entity entity;
    uint64_t spent[THREAD_STATES];

    // Guarded by the lock of the wait queue that it is in. All that is used under that lock is in one line.
    _Alignas(64) _Atomic(struct wait_queue *) waits_in;
    _Atomic(struct lock *) wait_lock; // of that queue, or of the last one
    struct thread *next, *previous;
    uint64_t key; // park: which word it waits for
    int wait_result;
    bool linked;         // it is in the queue, and not just on its way there
    uint64_t wait_count; // number of its waits, which identifies each
    uint64_t since;

    uint64_t born, died;
    uint64_t stack_top;
    unsigned slot; // index in the table, and of its kernel stack
    int id;
    // Guarded by the timer lock of timer_cpu.
    uint64_t deadline; // 0: none
    struct thread *timer_next;
    unsigned timer_cpu;

    // Guarded by its process's lock (core/process.c).
    bool ended, buried, collected;
    int status;
    struct thread *sibling; // in the list of its process's threads; of free slots, guarded by family_lock
    struct thread *elder;   // the one before it in the first of these lists
    struct wait_queue joiners;
    uint64_t call_words[2]; // while it waits for a reply; guarded by the inbox's lock

    // Its first registers in user mode.
    uint64_t entry, user_stack, argument[2];
    unsigned user_slot; // 0: main
    struct ring_owner ring;
};

_Static_assert(offsetof(struct thread, born) == 192, "a wake-up writes to three lines");

extern struct thread threads[MAX_THREADS];

void thread_idle_init(unsigned cpu); // makes the running code the CPU's idle thread
_Noreturn void thread_idle(void);
bool crowd_any_waiting(void), half_any_waiting(void); // core/fault.h
// Initialises a free slot that has a kernel stack; thread_start makes it runnable.
void thread_setup(struct thread *thread, struct process *process, uint64_t weight, unsigned latency);
void thread_start(struct thread *thread);
_Noreturn void thread_begin(void); // the first function of a new thread, called by trap.S
void thread_close_books(void);     // makes the caller DEAD; after that its joiners may be woken
_Noreturn void thread_end(void);   // process_bury is called once no CPU uses the stack

// Marks the thread as killed and ends its wait, if it waits. `held`: a wait queue's lock that the caller
// holds.
void thread_interrupt(struct thread *thread, const struct lock *held);
void thread_stop(struct thread *thread); // asks it to stand still before it is in user mode again
void thread_expire(struct thread *thread, uint64_t count); // timer interrupt: a deadline has passed

void thread_yield(void);
uint64_t thread_cycles(void); // the caller's CPU time
void thread_tick(void);       // timer interrupt: the slice is over
void thread_poked(void);      // reschedule interrupt
void thread_reschedule(void); // on the way to user mode: switches if requested
// Called between two steps of a long operation, with no lock held: takes pending interrupts and lets other
// threads run.
void thread_breathe(void);

static inline struct thread *current(void) {
    return this_cpu()->current;
}

#endif
