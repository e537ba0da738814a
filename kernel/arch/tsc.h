// The clock: the time stamp counter, in cycles. Owns cycles_per_us, which tsc_init sets once before any other
// processor runs. May be called in any context.
#ifndef ARCH_TSC_H
#define ARCH_TSC_H

#include <stdint.h>

extern uint64_t cycles_per_us;
extern uint64_t lapic_ticks_per_ms; // with divider 1

static inline uint64_t now(void) {
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi)::"memory");
    return (uint64_t)hi << 32 | lo;
}

// Measures the TSC and the LAPIC timer against one reference, for 2 ms at a time until two consecutive
// results agree. The LAPIC must be on.
void tsc_init(void);
void delay_us(uint64_t us);

#endif
