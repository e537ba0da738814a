// Stands in for the kernel functions that the checked code calls, and runs all checks. Arguments: first seed,
// number of seeds.
#include "host/host.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch/tsc.h"
#include "core/fault.h"
#include "core/lock.h"
#include "core/percpu.h"
#include "core/string.h"

_Thread_local unsigned host_cpu;
uint64_t cycles_per_us = 1000, lapic_ticks_per_ms;
enum fault fault_chosen;
uint64_t fault_value;
bool lock_books;
static struct cpu host_cpus[MAX_CPUS];

struct cpu *this_cpu(void) {
    return &host_cpus[host_cpu];
}
void lock_note(struct lock *lock, bool take) {
    (void)lock, (void)take;
}
void delay_us(uint64_t us) {
    (void)us;
}

_Thread_local void (*host_hook)(void);
void host_meanwhile(void) {
    void (*hook)(void) = host_hook;
    host_hook = NULL;
    if (hook != NULL)
        hook();
}

void lock_take(struct lock *lock) {
    while (!lock_try(lock, host_cpu))
        sched_yield();
}

// splitmix64 (Vigna)
uint64_t host_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ul;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ z >> 27) * 0x94d049bb133111ebul;
    return z ^ z >> 31;
}

static unsigned passed, failed;

static void run_all(const struct check *check, uint64_t first, uint64_t count) {
    for (; check->name != NULL; check++) {
        int line = 0;
        uint64_t seed = first;
        for (; seed < first + count && line == 0; seed++)
            line = check->run(seed);
        if (line != 0)
            printf("FAILED %s line=%d seed=%lu\n", check->name, line, seed - 1);
        *(line ? &failed : &passed) += 1;
    }
}

int main(int argc, char **argv) {
    uint64_t first = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 20;
    run_all(sched_checks, first, count);
    run_all(ring_checks, first, count);
    run_all(park_checks, first, count);
    run_all(wait_checks, first, count);
    run_all(fault_checks, first, count);
    run_all(in_time_checks, first, count);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
