// For core/fault.c: wrong copies of functions of core/thread.c. A CPU does nothing while a thread could run. They are
// no copies of the same lines, which would change how the compiler inlines the right ones.
#ifndef CORE_STANDING_H
#define CORE_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/policy.h"

struct cpu;
struct thread;

struct thread *thread_choose_halted(struct cpu *cpu, bool search);
struct thread *thread_choose_spun(struct cpu *cpu, bool search);
struct thread *thread_choose_busy(struct cpu *cpu, bool search);
void thread_poked_late(void);
_Noreturn void thread_idle_late(void);
_Noreturn void thread_idle_blind(void);
void thread_reschedule_storm(void);
struct thread *thread_choose_napped(struct cpu *cpu, bool search);
_Noreturn void thread_idle_blip(void);
void thread_ready_withheld(struct thread *thread, enum sched_why why);
void thread_expire_withheld(struct thread *thread, uint64_t count);
void thread_reschedule_slow(void);
void thread_reschedule_counting(void);
void thread_reschedule_halted(void);
struct thread *thread_choose_slow(struct cpu *cpu, bool search);
void thread_poked_halted(void);
void thread_poked_locked(void);
void process_begin_late(struct thread *thread);
_Noreturn void thread_idle_parked(void);
_Noreturn void thread_idle_polling(void);
struct sched_entity *sched_search_dropping(unsigned cpu);
void thread_ready_kept(struct thread *thread, enum sched_why why);
void thread_yield_asleep(void);
void thread_reschedule_asleep(void);
struct thread *thread_choose_kept(struct cpu *cpu, bool search);

// What they have in common.
void halt_for(uint64_t us);    // takes interrupts
void sleep_for(uint64_t us);   // the current thread
void compute_for(uint64_t us); // something that nobody needs; takes interrupts
struct thread *standing_chosen(struct cpu *cpu, bool search); // as the right thread_choose
void standing_look(struct cpu *cpu);                            // one turn of an idle CPU

#endif
