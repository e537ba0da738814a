// Shared by core/thread.c and core/thread_wait.c only: the accounting of a thread's time, the choice of the
// next thread, and the switch. Called with interrupts off.
#ifndef CORE_THREAD_SWITCH_H
#define CORE_THREAD_SWITCH_H

#include "core/thread.h"

// With `search`, the queues of other CPUs are searched too. NULL: nothing to run.
struct thread *thread_choose(struct cpu *cpu, bool search);
// `requeue`: the current thread goes back into a queue once its stack is free.
void thread_switch(struct thread *next, bool requeue);
// Makes a thread that is in no queue runnable, and wakes or interrupts a CPU for it. Takes a queue lock.
void thread_ready(struct thread *thread, enum sched_why why);

// Charges the time since the last change of state to the old state.
static inline void thread_account(struct thread *thread, enum thread_state state, uint64_t t) {
    thread->spent[thread->state] += t - thread->since;
    thread->since = t;
    thread->state = state;
}

// Switches away from the current thread, which is BLOCKED or DEAD.
static inline void thread_leave(void) {
    struct cpu *cpu = this_cpu();
    cpu->reschedule = false;
    struct thread *next = thread_choose(cpu, true);
    thread_switch(next ? next : cpu->idle, false);
}

#endif
