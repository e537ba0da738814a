// micro: what one operation of the kernel costs, on one CPU and on several at once.
//
// Each worker does `iters` operations of one kind, `samples` times, one worker on each CPU. An operation is a
// row of the table below: what it prepares outside the window, what it does `n` times, and how it knows that
// each time did its work. Only `run` is timed; a clock is read around as many operations as `batch` allows.
// With share=one the workers use the same file or channel, as in will-it-scale; with share=own each has one
// of its own.
#include "calls.h"
#include "threads.h"

#define ITERS_MAX 10000000u
#define SAMPLES_MAX 1000u
#define WARM_MAX 64u // operations of each worker before the window

enum { VALUE_OPS, VALUE_TIME, VALUE_BYTES, VALUE_PROOF };

// ---- the table

static const struct op ops[] = {
    {.name = "getpid", .before = before_getpid, .run = run_getpid},
    {.name = "read_null", .before = before_null, .run = run_read_null, .after = after_file},
    {.name = "write_null", .before = before_null, .run = run_write_null, .after = after_file},
    {.name = "pipe", .make = make_channel, .before = before_pipe, .run = run_pipe},
    {.name = "fork_exit", .run = run_fork_exit},
    {.name = "open_close", .make = make_file, .run = run_open_close, .after = after_open_close},
    {.name = "mmap_fault", .batch = REGION_PAGES, .run = run_mmap_fault},
    {.name = "stat", .make = make_file, .run = run_stat},
    {.name = "sched_yield", .before = before_yield, .run = run_yield},
    {.name = "futex_wake",
     .batch = SLEEPERS,
     .before = before_wake,
     .settle = settle_sleepers,
     .run = run_wake,
     .after = after_wake},
    {.name = "signal_delivery", .before = before_signal, .run = run_signal},
    {.name = "thread_create", .run = run_thread_create},
    {.name = "context_switch", .even = 1, .before = before_switch, .run = run_switch, .after = after_switch},
};

// ---- the workload

static const char *check(const struct common *common, const struct op *op) {
    if (common->iters < 1 || common->iters > ITERS_MAX)
        return "bench.iters must be 1 to 10000000";
    if (common->samples < 1 || common->samples > SAMPLES_MAX)
        return "bench.samples must be 1 to 1000";
    if (op->even && common->iters % 2 != 0)
        return "bench.iters must be even for this operation";
    if (common->one && op->make == NULL)
        return "bench.share=one: the workers of this operation have nothing to share";
    if (!common->one && !bench_param_is("share", "own"))
        return "bench.share must be own or one";
    return NULL;
}

static const char *prepare(struct bench_job *job) {
    struct common *common = port_shared(sizeof *common);
    if (common == NULL)
        return "no memory for what the workers share";
    job->data = common;
    while (common->op < sizeof ops / sizeof *ops && !bench_param_is("op", ops[common->op].name))
        common->op++;
    if (common->op == sizeof ops / sizeof *ops)
        return "bench.op is not an operation that micro.c has";
    const struct op *op = &ops[common->op];
    common->iters = bench_param_u64("iters", 0);
    common->samples = bench_param_u64("samples", 0);
    common->one = (uint64_t)bench_param_is("share", "one");
    const char *wrong = check(common, op);
    for (unsigned i = 0; wrong == NULL && op->make != NULL && i < (common->one ? 1 : job->workers); i++)
        wrong = op->make(common, i);
    return wrong;
}

// A worker is a process, so these are its own.
static struct me self;

// The time of n operations. *good grows by how many of them did their work.
static uint64_t timed(struct me *me, const struct op *op, uint64_t n, uint64_t *good) {
    uint64_t time = 0;
    while (n > 0) {
        uint64_t now = op->batch != 0 && n > op->batch ? op->batch : n;
        if (op->settle != NULL)
            op->settle(me);
        uint64_t began = port_now();
        *good += op->run(me, now);
        time += port_now() - began;
        n -= now;
    }
    return time;
}

static void before(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)slot;
    struct common *common = job->data;
    const struct op *op = &ops[common->op];
    uint64_t good = 0;
    self = (struct me){.common = common, .worker = worker};
    self.warm = common->iters < WARM_MAX ? common->iters : WARM_MAX;
    if (op->before != NULL)
        op->before(&self);
    (void)timed(&self, op, self.warm, &good);
    if (good != self.warm)
        port_fail("an operation failed before the window");
    self.bytes = self.proof = 0;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct common *common = job->data;
    const struct op *op = &ops[common->op];
    for (uint64_t sample = 0; sample < common->samples; sample++) {
        uint64_t time = timed(&self, op, common->iters, &slot->value[VALUE_OPS]);
        bench_record(bench_hist(job, worker, 0), time);
        slot->value[VALUE_TIME] += time;
    }
}

static void after(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)worker;
    const struct op *op = &ops[((const struct common *)job->data)->op];
    if (op->after != NULL)
        op->after(&self);
    slot->value[VALUE_BYTES] = self.bytes;
    slot->value[VALUE_PROOF] = self.proof;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    const struct common *common = job->data;
    fields[0] = (struct bench_field){"ops", 0, 0};
    fields[1] = (struct bench_field){"iters", common->iters, 0};
    for (unsigned i = 0; i < job->workers; i++)
        fields[0].value += job->slot[i].value[VALUE_OPS];
    return 2;
}

static const char *const param_names[] = {"op", "iters", "samples", "share", NULL};
static const char *const task_names[] = {NULL};
static const char *const value_names[] = {"ops", "time", "bytes", "proof", NULL};
static const char *const hist_names[] = {"sample", NULL};

const struct bench_workload bench_workload = {
    .name = "micro",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .hist_names = hist_names,
    .prepare = prepare,
    .before = before,
    .work = work,
    .after = after,
    .result = result,
};
