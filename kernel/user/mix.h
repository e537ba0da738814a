// What the files of tern's conductor share (docs/mix.md): mix.c opens the gate and stops all, mix_plan.c reads
// the command line, mix_limit.c holds limits of CPU time, mix_report.c prints.
#ifndef USER_MIX_H
#define USER_MIX_H

#include <stdint.h>

#include "harness.h"
#include "mix/lines.h"
#include "user/part.h"
#include "user/runtime.h"

#define PARTS_MOST 64
#define RUNS_MOST 2000                          // of one part
#define OUTPUT_BYTES (16ul * PART_OUTPUT_BYTES) // of all runs of one part
#define NONCE_BYTES 41

struct run {
    uint64_t start, end; // in ns; end 0: it was cut off
    uint64_t from, bytes;
    int64_t status;
};

enum stop { GOES_ON, FAILED, FULL }; // FULL: there is no room for another run

struct part {
    unsigned id;
    int is_dummy;
    const char *program;
    const char *const *manifest; // its words; the next part's word, or NULL, is after them
    int64_t cpu_us, period_us; // a limit; MIX_NONE: none
    // Written by its runner, a thread of the conductor; the conductor reads what these two say.
    uint32_t runs; // completed
    uint32_t stop;
    struct run run[RUNS_MOST + 1];
    struct part_run *shared; // with the run that is under way
    unsigned char *output;   // of all runs
    uint64_t printed;
    uint64_t runner_cycles; // what it cost to start the runs and to wait for them
    // The limit's state, in cycles (mix_limit.c).
    int64_t room;
    uint64_t counted, period_end;
    int stopped;
    uint64_t cycles; // CPU time of its program at the stop
};

extern struct part part[PARTS_MOST];
extern unsigned parts;

struct plan {
    uint64_t least, limit_ms;
    char nonce[NONCE_BYTES];
};

struct window {
    uint64_t start, end; // in ns
    const char *ended;
    uint64_t foreign; // in ns
    uint64_t memory;  // bytes that were free at the gate
};

uint64_t mix_ns(uint64_t cycles);
uint64_t mix_cycles(const struct part *one); // CPU time of its program
void mix_stop(struct part *one, int stop);   // nothing, if it has not started a run yet

void plan_read(struct plan *plan, const char *line);

void limit_begin(struct part *one, uint64_t now);
// Stops a part that has used up its quota, and lets it go on in the next period. When to look again, in
// cycles; UINT64_MAX: the part has no limit.
uint64_t limit_hold(struct part *one, uint64_t now);

void report(const struct plan *plan, const struct window *window);

#endif
