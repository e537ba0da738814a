// Native checks of the kernel's schedulers, ring, park and faults, on a Linux host under ASan and UBSan. A
// POSIX thread plays a CPU; host_cpu is its number. A check returns 0, or the line where it failed.
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <stdint.h>

#define NEED(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return __LINE__;                                                                                 \
    } while (0)

struct check {
    const char *name;
    int (*run)(uint64_t seed);
};

extern const struct check sched_checks[], ring_checks[], park_checks[], wait_checks[], fault_checks[],
    in_time_checks[];
extern _Thread_local unsigned host_cpu;

// Called once, just before the next lock is taken, or a thread enters a queue without one: what another CPU
// does at the worst moment.
extern _Thread_local void (*host_hook)(void);

unsigned host_wakes(void);      // threads that were made ready to run since
unsigned host_wakes_held(void); // of them, by a CPU that had the lock of the queue in which they waited
void host_forget_wakes(void);   // which no thread is waiting for

uint64_t host_random(uint64_t *state);

#endif
