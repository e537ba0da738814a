// For core/thread.c and core/fault.c: faults by which a CPU does nothing while a thread could run.
#ifndef CORE_STANDING_H
#define CORE_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/policy.h"

struct cpu;
struct thread;

struct thread *thread_choose_halted(struct cpu *cpu, bool search);
void standing_look_late(void);
void standing_look_away(void);
bool standing_withhold(struct thread *thread, enum sched_why why); // it comes to a queue later
void thread_expire_withheld(struct thread *thread, uint64_t count);

#endif
