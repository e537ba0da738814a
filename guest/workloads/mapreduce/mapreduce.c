// mapreduce: each worker maps a static block of words into a table of its own; a tree of merges joins the
// tables.
//
// Word i is random number i; its key is what `grain` turns make of it, and the bucket is the key's highest
// bits. A table counts the keys of each bucket and sums them. In round r of the reduction the workers whose
// number is a multiple of 2^(r+1) add the table of the worker 2^r above them, once that worker has posted it.
// Worker 0 therefore ends with the table of all words, and each other worker with that of the words which it
// gave to the one below it.
#include "work.h"

#define WORDS_MAX 16777216u
#define GRAIN_MAX 1000000u
#define BUCKET_BITS 8
#define BUCKETS (1u << BUCKET_BITS)

enum { VALUE_WORDS, VALUE_SUM, VALUE_MERGES };

struct table {
    struct bench_word posted; // 1 once it is complete
    uint64_t count[BUCKETS], sum[BUCKETS];
};

struct job_data {
    uint64_t grain;
    struct table table[BENCH_MAX_WORKERS];
};

static const char *prepare(struct bench_job *job) {
    uint64_t words = bench_param_u64("words", 0), grain = bench_param_u64("grain", 0);
    if (words < BENCH_MAX_WORKERS || words > WORDS_MAX)
        return "bench.words must be 64 to 16777216";
    if (grain < 1 || grain > GRAIN_MAX)
        return "bench.grain must be 1 to 1000000";
    struct job_data *data = port_shared(sizeof *data);
    if (data == NULL)
        return "no memory for the tables";
    data->grain = grain;
    for (unsigned k = 0; k < job->workers; k++) // touch the pages, so that work() takes no page fault
        for (unsigned b = 0; b < BUCKETS; b++)
            data->table[k].count[b] = data->table[k].sum[b] = 0;
    job->data = data;
    bench_share(job, words);
    return NULL;
}

static void merge(struct table *into, struct table *from) {
    bench_await(&from->posted, 1);
    for (unsigned b = 0; b < BUCKETS; b++) {
        into->count[b] += from->count[b];
        into->sum[b] += from->sum[b];
    }
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct job_data *data = job->data;
    struct table *mine = &data->table[worker];
    uint64_t words = 0, sum = 0, merges = 0;
    for (uint64_t i = job->task[worker][TASK_LO]; i < job->task[worker][TASK_HI]; i++) {
        uint64_t key = bench_turns(bench_mix(i), data->grain);
        mine->count[key >> (64 - BUCKET_BITS)]++;
        mine->sum[key >> (64 - BUCKET_BITS)] += key;
        words++;
        sum += key;
    }
    for (unsigned step = 1; step < job->workers && worker % (2 * step) == 0; step *= 2)
        if (worker + step < job->workers) {
            merge(mine, &data->table[worker + step]);
            merges++;
        }
    bench_post(&mine->posted, 1);
    slot->value[VALUE_WORDS] = words;
    slot->value[VALUE_SUM] = sum;
    slot->value[VALUE_MERGES] = merges;
}

static uint64_t fold_table(uint64_t fold, const struct table *table) {
    for (unsigned b = 0; b < BUCKETS; b++)
        fold = bench_fold(bench_fold(fold, table->count[b]), table->sum[b]);
    return fold;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    const struct table *all = ((const struct job_data *)job->data)->table;
    uint64_t words = 0, sum = 0, fold = fold_table(0, all), tables = 0;
    for (unsigned b = 0; b < BUCKETS; b++) {
        words += all->count[b];
        sum += all->sum[b];
    }
    for (unsigned k = 0; k < job->workers; k++)
        tables = fold_table(tables, &all[k]);
    fields[0] = (struct bench_field){"words", words, 0};
    fields[1] = (struct bench_field){"sum", sum, 1};
    fields[2] = (struct bench_field){"fold", fold, 1};
    fields[3] = (struct bench_field){"tables", tables, 1};
    return 4;
}

static const char *const param_names[] = {"words", "grain", NULL};
static const char *const task_names[] = {"lo", "hi", NULL};
static const char *const value_names[] = {"words", "#sum", "merges", NULL};

const struct bench_workload bench_workload = {
    .name = "mapreduce",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
