// walker: follow pointers through a table that is as large as a cache, or larger.
//
// The table has `footprint_kb` KiB, in lines of 64 bytes; each line has the number of the next one.
// Together they are one cycle through all lines (Sattolo's shuffle, with random numbers from `seed`), so
// each step has to wait for the line of the step before, and no prefetcher knows the next one. All workers
// walk the same table. The steps are divided equally among them; worker k begins at the k-th of equally
// spaced lines.
//
// The digest folds the number of each line that a worker comes to. The workers are threads, so that none of
// them has page faults of its own in the window.
//
// The shuffle that makes one cycle is Sandra Sattolo's ("An algorithm to generate a random cyclic
// permutation", 1986).
#include "work.h"

#define FOOTPRINT_MAX 65536u
#define STEPS_MAX 20000000u
#define LINES_PER_KB 16u
#define SEED_SPAN 0x100000000ull // more random numbers than any table has lines

enum { TASK_FIRST = TASK_HI + 1 };
enum { VALUE_STEPS, VALUE_AT, VALUE_DIGEST };

struct line {
    _Alignas(64) uint64_t next;
};

static void make_cycle(struct line *line, uint64_t lines, uint64_t seed) {
    for (uint64_t i = 0; i < lines; i++)
        line[i].next = i;
    for (uint64_t i = lines - 1; i > 0; i--) {
        uint64_t other = bench_mix(seed * SEED_SPAN + i) % i;
        uint64_t next = line[i].next;
        line[i].next = line[other].next;
        line[other].next = next;
    }
}

static const char *prepare(struct bench_job *job) {
    uint64_t footprint = bench_param_u64("footprint_kb", 0), steps = bench_param_u64("steps", 0);
    if (footprint < BENCH_MAX_WORKERS / LINES_PER_KB || footprint > FOOTPRINT_MAX)
        return "bench.footprint_kb must be 4 to 65536";
    if (steps < BENCH_MAX_WORKERS || steps > STEPS_MAX)
        return "bench.steps must be 64 to 20000000";
    uint64_t lines = footprint * LINES_PER_KB;
    struct line *line = port_shared(lines * sizeof *line);
    if (line == NULL)
        return "no memory for the table";
    make_cycle(line, lines, bench_param_u64("seed", 0));
    job->data = line;
    bench_share(job, steps);
    for (unsigned k = 0; k < job->workers; k++)
        job->task[k][TASK_FIRST] = lines * k / job->workers;
    return NULL;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct line *line = job->data;
    uint64_t left = job->task[worker][TASK_HI] - job->task[worker][TASK_LO];
    uint64_t at = job->task[worker][TASK_FIRST], digest = 0, steps = 0;
    for (; left > 0; left--) {
        at = line[at].next;
        digest = bench_fold(digest, at);
        steps++;
    }
    slot->value[VALUE_STEPS] = steps;
    slot->value[VALUE_AT] = at;
    slot->value[VALUE_DIGEST] = digest;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t steps = 0, digest = 0;
    for (unsigned k = 0; k < job->workers; k++) {
        steps += job->slot[k].value[VALUE_STEPS];
        digest = bench_fold(digest, job->slot[k].value[VALUE_DIGEST]);
    }
    fields[0] = (struct bench_field){"steps", steps, 0};
    fields[1] = (struct bench_field){"digest", digest, 1};
    return 2;
}

static const char *const param_names[] = {"footprint_kb", "steps", "seed", NULL};
static const char *const task_names[] = {"lo", "hi", "first", NULL};
static const char *const value_names[] = {"steps", "at", "#digest", NULL};

const struct bench_workload bench_workload = {
    .name = "walker",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
