// What needs no array: the time of a cycle, of an atomic operation, of an interrupt between two CPUs.
//
// cycle:     one of a chain of dependent additions, each of which takes a cycle on every processor of today
// atomic:    one atomic addition to a line that this CPU's first-level cache holds, in a chain
// plain:     the same without `atomic`: load, add, store, in a chain through the same memory
// interrupt: membarrier() interrupts each CPU that runs a thread of this process, and waits until all have
//            answered. The sample is its time while another CPU spins, less its time while this CPU is alone
//            with it: sending, delivery, handling and the answer.
#define _GNU_SOURCE
#include "measure.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 31u
#define STEPS 4096u
#define CALLS 8u
#define LEAST_ROUNDS 5u
#define LONGEST_NS 5e8 // one pass

static _Alignas(2 * LINE_BYTES) _Atomic uint64_t counter;
static _Alignas(2 * LINE_BYTES) volatile uint64_t word;
static _Alignas(2 * LINE_BYTES) _Atomic uint64_t spun; // how often the other thread looked
static _Alignas(2 * LINE_BYTES) _Atomic bool over;
static unsigned other_cpu;

static void additions(void) {
    uint64_t sum = 1;
    for (unsigned n = 0; n < STEPS; n += 8)
        for (unsigned k = 0; k < 8; k++) { // unrolled; the compiler does not know what is added
            uint64_t one = sum;
            __asm__ volatile("" : "+r"(one));
            sum = one + 1;
        }
    __asm__ volatile("" : : "r"(sum));
}

static void atomics(void) {
    uint64_t seen = 0;
    for (unsigned n = 0; n < STEPS; n++)
        seen = atomic_fetch_add(&counter, seen | 1);
}

static void plains(void) {
    for (unsigned n = 0; n < STEPS; n++)
        word = word + 1;
}

static void timed(const char *name, void (*steps)(void)) {
    double found[ROUNDS];
    for (unsigned n = 0; n < ROUNDS; n++) {
        double begin = now_ns();
        steps();
        found[n] = (now_ns() - begin) / STEPS;
    }
    sample(name, median(found, ROUNDS));
}

int single(unsigned count, char **words) {
    if (count != 2)
        return 2;
    pin(number(words[0], 65535));
    for (unsigned passes = number(words[1], 1000); passes; passes--) {
        timed("cycle", additions);
        timed("atomic", atomics);
        timed("plain", plains);
    }
    return 0;
}

static void barrier(int command) {
    if (syscall(SYS_membarrier, command, 0, 0) != 0)
        fail("the kernel refuses membarrier");
}

static double call_time(void) {
    double begin = now_ns();
    for (unsigned n = 0; n < CALLS; n++)
        barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    return (now_ns() - begin) / CALLS;
}

static double alone(void) {
    double found[ROUNDS];
    for (unsigned n = 0; n < ROUNDS; n++)
        found[n] = call_time();
    return median(found, ROUNDS);
}

// A round counts only if the other thread ran in it: on a busy host it may be off its CPU, which then is not
// interrupted. So there are more rounds, until enough count or the time is over.
static bool together(double *time) {
    double found[ROUNDS], until = now_ns() + LONGEST_NS;
    unsigned good = 0;
    while (good < ROUNDS && now_ns() < until) {
        uint64_t before = atomic_load(&spun);
        found[good] = call_time();
        good += atomic_load(&spun) - before >= CALLS;
    }
    *time = good ? median(found, good) : 0;
    return good >= LEAST_ROUNDS;
}

static void *spin(void *unused) {
    pin(other_cpu);
    for (uint64_t n = 1; !atomic_load_explicit(&over, memory_order_relaxed); n++)
        atomic_store_explicit(&spun, n, memory_order_relaxed);
    return unused;
}

int interrupt(unsigned count, char **words) {
    if (count != 3)
        return 2;
    pin(number(words[0], 65535));
    other_cpu = number(words[1], 65535);
    barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    for (unsigned passes = number(words[2], 1000); passes; passes--) {
        double without = alone(), with;
        pthread_t other;
        atomic_store(&spun, 0);
        atomic_store(&over, false);
        errno = pthread_create(&other, NULL, spin, NULL);
        if (errno != 0)
            fail("cannot start a second thread");
        while (atomic_load(&spun) == 0)
            ;
        bool good = together(&with);
        atomic_store(&over, true);
        pthread_join(other, NULL);
        if (good && with > without)
            sample("interrupt", with - without);
    }
    return 0;
}
