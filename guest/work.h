// Pieces that several workloads are made of: work whose answer is known in closed form, numbers that look
// random, equal shares, and words that one worker sets and another waits for.
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include "services.h"

// Element `index` of the splitmix64 sequence for seed 0 (Sebastiano Vigna, after Steele, Lea and Flood).
static inline uint64_t bench_mix(uint64_t index) {
    uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// Work of a known length: each turn is a multiplication that needs the last one's product. The constants are
// Knuth's (MMIX; The Art of Computer Programming, vol. 2, 3.3.4). Unless told not to unroll the loop, clang makes
// eight turns with one multiplication.
static inline uint64_t bench_turns(uint64_t x, uint64_t turns) {
#pragma GCC unroll 1
    for (; turns != 0; turns--)
        x = x * 6364136223846793005ull + 1442695040888963407ull;
    return x;
}

// One number that depends on all values and on their order. The factor is any large odd number.
static inline uint64_t bench_fold(uint64_t fold, uint64_t value) {
    return fold * 0x9fb21c651e98df25ull + value;
}

// Gives each worker an equal part of 0..items-1, as the task words lo and hi (not included).
enum { TASK_LO, TASK_HI };
static inline void bench_share(struct bench_job *job, uint64_t items) {
    for (unsigned k = 0; k < job->workers; k++) {
        job->task[k][TASK_LO] = items * k / job->workers;
        job->task[k][TASK_HI] = items * (k + 1) / job->workers;
    }
}

// ---- made of park: a word that only grows, on cache lines of its own
struct bench_word {
    _Alignas(128) uint32_t is;
};

// release: what the caller wrote before is visible to whoever awaits this value
static inline void bench_post(struct bench_word *word, uint32_t value) {
    __atomic_store_n(&word->is, value, __ATOMIC_RELEASE);
    port_wake(&word->is, BENCH_MAX_WORKERS);
}

static inline void bench_await(struct bench_word *word, uint32_t value) {
    uint32_t is;
    while ((is = __atomic_load_n(&word->is, __ATOMIC_ACQUIRE)) < value)
        port_wait(&word->is, is, 0);
}

#endif
