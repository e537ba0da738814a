// What an operation is: a row of the table in micro.c, and what its functions see.
#ifndef MICRO_OP_H
#define MICRO_OP_H

#include "services.h"

#define PAGE_BYTES 4096u
#define CHUNK_WORDS (PAGE_BYTES / 8)
#define REGION_PAGES 64u
#define SLEEPERS 16u
#define FILE_BYTES 1000u // plus the number of the file, so that each has a size of its own
#define FILLING 0x5a5a5a5a5a5a5a5aull

// What all workers see. A pointer in it is to memory that they share.
struct common {
    uint64_t iters, samples, one;
    unsigned op;
    int channel[BENCH_MAX_WORKERS];
    const char *path[BENCH_MAX_WORKERS];
    struct cell { // where a child writes its answer
        _Alignas(128) uint64_t question, answer;
    } cell[BENCH_MAX_WORKERS];
};

// What one worker and its own threads see.
struct me {
    struct common *common;
    unsigned worker;
    uint64_t warm;         // operations before the window
    uint64_t bytes, proof; // of the operations in the window
    uint64_t expected;     // a number that counts all operations, or what each must give
    int file, task[SLEEPERS];
    _Alignas(128) uint32_t word; // for threads of this worker to sleep on
    _Alignas(128) uint32_t asleep;
    _Alignas(128) uint64_t done; // by this worker's other threads
};

struct op {
    const char *name;
    unsigned batch; // at most so many are timed at once; 0: any number
    int even;       // only an even number can be done
    const char *(*make)(struct common *common, unsigned number); // in prepare(): what workers can share, or not
    void (*before)(struct me *me);
    void (*settle)(struct me *me);              // not timed, before each batch
    uint64_t (*run)(struct me *me, uint64_t n); // does n operations; how many did their work
    void (*after)(struct me *me);
};

#endif
