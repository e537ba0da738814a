// Each CPU's one-shot timer: the end of the running thread's slice, and its sleepers' deadlines. An idle CPU
// without sleepers lets a timer that is set run out and does not set it again.
// Takes the timer lock; timer_interrupt takes the sleepers' wait queue locks too, and runs with none held.
#ifndef CORE_TIMER_H
#define CORE_TIMER_H

#include <stdint.h>

struct thread;

void timer_sleep(struct thread *thread);  // by its deadline, on this CPU
void timer_cancel(struct thread *thread); // by the thread itself, once it runs again
void timer_slice(uint64_t end);           // 0: no slice
void timer_interrupt(void);

#endif
