// The services of services.h that are made of a port's functions and of atomic operations.
//
// Takes words in memory that the workers share. No function here fails.
#include "harness.h"

#define NS_PER_S 1000000000ull

// The whole seconds and the rest apart: the product of all nanoseconds and the frequency exceeds 64 bits.
uint64_t bench_ticks(uint64_t ns) {
    return ns / NS_PER_S * port_hz() + ns % NS_PER_S * port_hz() / NS_PER_S;
}

int bench_running(const struct bench_job *job) {
    return job->deadline == 0 || port_now() < job->deadline;
}

void bench_barrier(struct bench_barrier *barrier) {
    // Read before this worker arrives: the phase cannot end without it.
    uint32_t phase = __atomic_load_n(&barrier->phase, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&barrier->arrived, 1, __ATOMIC_ACQ_REL) != barrier->members) {
        // acquire: pairs with the release below, so that everybody sees the work of all before the barrier
        while (__atomic_load_n(&barrier->phase, __ATOMIC_ACQUIRE) == phase)
            port_wait(&barrier->phase, phase, 0);
        return;
    }
    __atomic_store_n(&barrier->arrived, 0, __ATOMIC_RELAXED); // before anybody can arrive for the next phase
    __atomic_store_n(&barrier->phase, phase + 1, __ATOMIC_RELEASE);
    port_wake(&barrier->phase, UINT32_MAX);
}

// Looks before it writes: waiting CPUs then share the cache line instead of taking it from each other.
void bench_lock(struct bench_lock *lock) {
    while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE) != 0)
        while (__atomic_load_n(&lock->taken, __ATOMIC_RELAXED) != 0)
            bench_relax();
}

void bench_unlock(struct bench_lock *lock) {
    __atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE); // pairs with the acquire in bench_lock
}
