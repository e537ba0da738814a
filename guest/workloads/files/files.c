// files: write files, wait until they are on their device, read them back from there.
//
// There are `count` files of `blocks` blocks of `block_kb` KiB, divided equally among the workers. In each
// of `rounds` a worker writes all blocks of a file, syncs it, opens it again and reads it. Word w of a
// block is what w turns make of a random number, which is another one for each round, file and block. The
// digest folds all words read: one that was not written, or that is from another round, gives another
// digest.
//
// Where the files are is the system's matter: in memory by default.
#include "work.h"

#define COUNT_MAX 1024u
#define BLOCKS_MAX 16384u
#define BLOCK_KB_MAX 64u
#define ROUNDS_MAX 1000u
#define FILE_KB_MAX 65536u

enum { VALUE_WRITTEN, VALUE_READ, VALUE_SYNCS, VALUE_DIGEST, VALUE_BYTES };

struct plan {
    uint64_t count, blocks, bytes, rounds; // bytes: of a block
    const char *path[COUNT_MAX];
};

static const char *parameters(struct plan *plan) {
    uint64_t kb = bench_param_u64("block_kb", 0);
    plan->count = bench_param_u64("count", 0);
    plan->blocks = bench_param_u64("blocks", 0);
    plan->rounds = bench_param_u64("rounds", 0);
    plan->bytes = kb * 1024;
    if (plan->count < 1 || plan->count > COUNT_MAX)
        return "bench.count must be 1 to 1024";
    if (plan->blocks < 1 || plan->blocks > BLOCKS_MAX)
        return "bench.blocks must be 1 to 16384";
    if (kb < 1 || kb > BLOCK_KB_MAX)
        return "bench.block_kb must be 1 to 64";
    if (plan->rounds < 1 || plan->rounds > ROUNDS_MAX)
        return "bench.rounds must be 1 to 1000";
    if (plan->blocks * kb > FILE_KB_MAX)
        return "bench.blocks of bench.block_kb must be at most 65536 KiB";
    return NULL;
}

static const char *prepare(struct bench_job *job) {
    struct plan *plan = port_shared(sizeof *plan);
    if (plan == NULL)
        return "no memory for the paths";
    const char *wrong = parameters(plan);
    if (wrong != NULL)
        return wrong;
    for (uint64_t i = 0; i < plan->count; i++)
        if ((plan->path[i] = port_file(plan->blocks * plan->bytes)) == NULL)
            return "a file cannot be made";
    job->data = plan;
    bench_share(job, plan->count);
    return NULL;
}

static uint64_t block[BLOCK_KB_MAX * 1024 / sizeof(uint64_t)]; // of the worker's process

static void before(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job, (void)worker, (void)slot;
    for (uint64_t i = 0; i < sizeof block / sizeof *block; i++) // the page faults
        block[i] = i;
}

static int opened(const char *path) {
    int file = port_open(path);
    if (file < 0)
        port_fail("a file cannot be opened");
    return file;
}

static void end_file(int file) {
    if (port_close(file) != 0)
        port_fail("a file cannot be closed");
}

static void write_file(const struct plan *plan, uint64_t number, uint64_t round, struct bench_slot *slot) {
    int file = opened(plan->path[number]);
    for (uint64_t b = 0; b < plan->blocks; b++) {
        uint64_t word = bench_mix((round * plan->count + number) * plan->blocks + b);
        for (uint64_t i = 0; i < plan->bytes / sizeof word; i++, word = bench_turns(word, 1))
            block[i] = word;
        if (port_write(file, block, plan->bytes) != (int64_t)plan->bytes)
            port_fail("a block cannot be written");
        slot->value[VALUE_WRITTEN]++;
    }
    if (port_sync(file) != 0)
        port_fail("a file cannot be synced");
    slot->value[VALUE_SYNCS]++;
    end_file(file);
}

static void read_file(const struct plan *plan, uint64_t number, struct bench_slot *slot) {
    int file = opened(plan->path[number]);
    uint64_t digest = slot->value[VALUE_DIGEST];
    for (uint64_t b = 0; b < plan->blocks; b++) {
        if (port_read(file, block, plan->bytes) != (int64_t)plan->bytes)
            port_fail("a block cannot be read");
        for (uint64_t i = 0; i < plan->bytes / sizeof *block; i++)
            digest = bench_fold(digest, block[i]);
        slot->value[VALUE_READ]++;
    }
    slot->value[VALUE_DIGEST] = digest;
    end_file(file);
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct plan *plan = job->data;
    for (uint64_t round = 0; round < plan->rounds; round++)
        for (uint64_t number = job->task[worker][TASK_LO]; number < job->task[worker][TASK_HI]; number++) {
            write_file(plan, number, round, slot);
            read_file(plan, number, slot);
        }
}

// What the system says of the files by their names.
static void after(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct plan *plan = job->data;
    for (uint64_t i = job->task[worker][TASK_LO]; i < job->task[worker][TASK_HI]; i++)
        slot->value[VALUE_BYTES] += (uint64_t)port_size(plan->path[i]);
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t read = 0, digest = 0;
    for (unsigned k = 0; k < job->workers; k++) {
        read += job->slot[k].value[VALUE_READ];
        digest = bench_fold(digest, job->slot[k].value[VALUE_DIGEST]);
    }
    fields[0] = (struct bench_field){"blocks", read, 0};
    fields[1] = (struct bench_field){"digest", digest, 1};
    return 2;
}

static const char *const param_names[] = {"count", "blocks", "block_kb", "rounds", NULL};
static const char *const task_names[] = {"lo", "hi", NULL};
static const char *const value_names[] = {"written", "read", "syncs", "#digest", "bytes", NULL};

const struct bench_workload bench_workload = {
    .name = "files",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .before = before,
    .work = work,
    .after = after,
    .result = result,
};
