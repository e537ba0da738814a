// streamer: read one array and write another, both larger than any cache, again and again.
//
// Each array has `array_kb` KiB, of which one word of 8 bytes in every `stride` bytes is used. A pass reads
// each of these words of one array, makes one turn of it and writes it to the same place of the other; the
// next pass goes back. After the last pass the array that was written last is read once more. Word i begins
// as random number i, and a worker sums all words that it reads, so each pass must have read what the one
// before wrote. Each worker has a contiguous part. The workers are threads, so that none of them has page
// faults in the window.
//
// With a stride of a line every read and every write moves a line, and little is computed in between.
#include "work.h"

#define ARRAY_MAX 131072u
#define PASSES_MAX 1000u
#define STRIDE_MAX 4096u

enum { VALUE_WRITTEN, VALUE_READ, VALUE_SUM };

struct arrays {
    uint64_t passes, step; // in words
    uint64_t *array[2];
};

static const char *allocate(struct arrays *arrays, uint64_t bytes) {
    for (unsigned a = 0; a < 2; a++)
        if ((arrays->array[a] = port_shared(bytes)) == NULL)
            return "no memory for the arrays";
    return NULL;
}

static const char *prepare(struct bench_job *job) {
    uint64_t kb = bench_param_u64("array_kb", 0), stride = bench_param_u64("stride", 0);
    uint64_t passes = bench_param_u64("passes", 0);
    if (kb < BENCH_MAX_WORKERS || kb > ARRAY_MAX)
        return "bench.array_kb must be 64 to 131072";
    if (stride < sizeof(uint64_t) || stride > STRIDE_MAX || stride % sizeof(uint64_t) != 0)
        return "bench.stride must be 8 to 4096, in steps of 8";
    if (passes < 1 || passes > PASSES_MAX)
        return "bench.passes must be 1 to 1000";
    struct arrays *arrays = port_shared(sizeof *arrays);
    if (arrays == NULL)
        return "no memory for the arrays";
    const char *wrong = allocate(arrays, kb * 1024);
    if (wrong != NULL)
        return wrong;
    arrays->passes = passes;
    arrays->step = stride / sizeof(uint64_t);
    uint64_t words = kb * 1024 / stride;
    for (uint64_t i = 0; i < words; i++) { // the second one for its page faults
        arrays->array[0][i * arrays->step] = bench_mix(i);
        arrays->array[1][i * arrays->step] = 0;
    }
    job->data = arrays;
    bench_share(job, words);
    return NULL;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct arrays *arrays = job->data;
    uint64_t lo = job->task[worker][TASK_LO], hi = job->task[worker][TASK_HI], step = arrays->step;
    uint64_t sum = 0, written = 0, read = 0;
    for (uint64_t pass = 0; pass < arrays->passes; pass++) {
        const uint64_t *from = arrays->array[pass % 2];
        uint64_t *to = arrays->array[(pass + 1) % 2];
        for (uint64_t i = lo; i < hi; i++) {
            uint64_t word = from[i * step];
            sum += word;
            to[i * step] = bench_turns(word, 1);
        }
        written += hi - lo;
    }
    const uint64_t *last = arrays->array[arrays->passes % 2];
    for (uint64_t i = lo; i < hi; i++) {
        sum += last[i * step];
        read++;
    }
    slot->value[VALUE_WRITTEN] = written;
    slot->value[VALUE_READ] = written + read;
    slot->value[VALUE_SUM] = sum;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t sum = 0;
    for (unsigned k = 0; k < job->workers; k++)
        sum += job->slot[k].value[VALUE_SUM];
    fields[0] = (struct bench_field){"sum", sum, 1};
    return 1;
}

static const char *const param_names[] = {"array_kb", "passes", "stride", NULL};
static const char *const task_names[] = {"lo", "hi", NULL};
static const char *const value_names[] = {"written", "read", "#sum", NULL};

const struct bench_workload bench_workload = {
    .name = "streamer",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
