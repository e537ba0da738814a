// Each CPU's one-shot timer: the end of the running thread's slice, and the deadlines of its sleepers. An
// idle CPU without sleepers lets the timer expire and does not set it again.
//
// Takes the timer lock. timer_interrupt also takes the locks of the sleepers' wait queues; its caller holds
// none.
#ifndef CORE_TIMER_H
#define CORE_TIMER_H

#include <stdint.h>

struct thread;

void timer_sleep(struct thread *thread);  // until its deadline, on this CPU's timer
void timer_cancel(struct thread *thread); // called by the thread itself, once it runs again
void timer_slice(uint64_t end);           // 0: no slice
void timer_interrupt(void);

#endif
