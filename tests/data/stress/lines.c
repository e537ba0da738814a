// Cases whose CPUs want one line of memory. No interrupt and no kernel comes between, so what they take follows
// from arithmetic alone. `sum` of CPU 0 is how long its timed part took.
#include "stress.h"

#define AWAY 500 // instructions for which a CPU does not want the line

static _Alignas(128) volatile uint64_t counter[MOST]; // side by side: eight in a line of 64 bytes

// Five instructions a step, in one block: reads a word, and writes it back one larger.
static void increment(unsigned me, uint64_t n) {
    volatile uint64_t *at = &counter[me];
    uint64_t value;
    __asm__ volatile("1: mov (%1), %2; inc %2; mov %2, (%1); dec %0; jnz 1b"
                     : "+r"(n), "+r"(at), "=&r"(value)::"cc", "memory");
}

// CPU 0 times its middle part. The others read no clock, not even their own: while they did, CPU 0 would be alone.
static void timed(void) {
    increment(0, steps / 2);
    seen[0].at = tsc();
    increment(0, steps);
    seen[0].sum = tsc() - seen[0].at;
}

void increments(unsigned me) {
    if (me == 0)
        timed();
    else
        increment(me, 3 * steps);
}

// The same, but in the middle of what CPU 0 times the others are away, as for an interrupt.
void interrupted(unsigned me) {
    if (me == 0) {
        timed();
    } else {
        increment(me, steps);
        work(AWAY / 2);
        increment(me, 2 * steps);
    }
}
