// counters: each worker increments a counter of its own; all workers together make `steps` increments.
//
// Between two increments the worker turns a number of its own `delay` times. layout=packed puts the counters side
// by side, eight in 64 bytes: no worker touches another's counter, and yet every increment takes the cache line
// away from the others (false sharing: Torrellas, Lam and Hennessy, IEEE Transactions on Computers 43(6), 1994).
// layout=padded gives each counter 128 bytes. Nothing else differs, not even the instructions.
#include "work.h"

#define STEPS_MAX 100000000u
#define TURNS_MAX 100000000u
#define LINE 64
#define PADDED 16 // numbers from one counter to the next

enum { VALUE_COUNT, VALUE_OWN };

// Static, which threads share, so that the line has a name where moved lines are shown.
static struct {
    _Alignas(128) uint64_t counter[BENCH_MAX_WORKERS * PADDED];
} counters;
static struct {
    _Alignas(128) uint64_t apart, delay; // read-only once the workers run
} asked;

static uint64_t *counter_of(unsigned worker) {
    return &counters.counter[worker * asked.apart];
}

static const char *prepare(struct bench_job *job) {
    uint64_t steps = bench_param_u64("steps", 0), delay = bench_param_u64("delay", 0);
    int packed = bench_param_is("layout", "packed");
    if (steps < job->workers || steps > STEPS_MAX)
        return "bench.steps must be 1 for each worker, and at most 100000000";
    if (delay > TURNS_MAX)
        return "bench.delay must be 0 to 100000000";
    if (!packed && !bench_param_is("layout", "padded"))
        return "bench.layout must be packed or padded";
    asked.apart = packed ? 1 : PADDED;
    asked.delay = delay;
    for (unsigned k = 0; k < BENCH_MAX_WORKERS; k++)
        *counter_of(k) = 0; // here for the first time, so that no worker has a page fault
    bench_share(job, steps);
    return NULL;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    uint64_t *counter = counter_of(worker), delay = asked.delay, own = worker;
    for (uint64_t step = job->task[worker][TASK_LO], end = job->task[worker][TASK_HI]; step != end; step++) {
        // Relaxed loads and stores: ordinary instructions that the compiler may not gather into one addition.
        __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
        own = bench_turns(own, delay);
    }
    slot->value[VALUE_COUNT] = *counter;
    slot->value[VALUE_OWN] = own;
}

// Where the counters are is part of the answer: a layout other than the one asked for would prove nothing.
static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t first = (uint64_t)counter_of(0), sum = 0;
    for (unsigned k = 0; k < job->workers; k++)
        sum += *counter_of(k);
    fields[0] = (struct bench_field){"sum", sum, 0};
    fields[1] = (struct bench_field){"offset", first % LINE, 0};
    fields[2] = (struct bench_field){"apart", (uint64_t)counter_of(1) - first, 0};
    return 3;
}

static const char *const param_names[] = {"steps", "delay", "layout", NULL};
static const char *const task_names[] = {"lo", "hi", NULL};
static const char *const value_names[] = {"count", "#own", NULL};

const struct bench_workload bench_workload = {
    .name = "counters",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
