// tasks: many short steps by several tasks per worker; after each step a task yields to another.
//
// A window that only computes hides a bad run queue. Here each worker starts `live` tasks (threads of its
// process), divides its share of the steps among them, and joins them. A task yields after each step, so the
// scheduler of every CPU must choose a thread once per step. This is the only workload whose work() makes
// system calls: the three port functions at the end of bench.h.
//
// Step s computes x = s, then `grain` times x = x * A + C modulo 2^64; a worker's value is the sum over its
// steps. A and C are Knuth's MMIX constants (The Art of Computer Programming, vol. 2, 3.3.4).
#include "bench.h"

#define STEPS_MAX 100000000u
#define GRAIN_MAX 1000000u
#define LIVE_MAX 16u
#define A 6364136223846793005ull
#define C 1442695040888963407ull

enum { TASK_LO, TASK_HI };
enum { VALUE_STEPS, VALUE_SUM };

static uint64_t steps, grain, live;

struct task {
    _Alignas(128) uint64_t lo;
    uint64_t hi, sum;
};

static const char *prepare(struct bench_job *job) {
    steps = bench_param_u64("steps", 0);
    grain = bench_param_u64("grain", 0);
    live = bench_param_u64("live", 0);
    if (steps < BENCH_MAX_WORKERS * LIVE_MAX || steps > STEPS_MAX)
        return "bench.steps must be 1024 to 100000000";
    if (grain < 1 || grain > GRAIN_MAX)
        return "bench.grain must be 1 to 1000000";
    if (live < 1 || live > LIVE_MAX)
        return "bench.live must be 1 to 16";
    for (unsigned k = 0; k < job->workers; k++) {
        job->task[k][TASK_LO] = steps * k / job->workers;
        job->task[k][TASK_HI] = steps * (k + 1) / job->workers;
    }
    return NULL;
}

static void run_task(void *argument) {
    struct task *task = argument;
    uint64_t sum = 0;
    for (uint64_t step = task->lo; step < task->hi; step++) {
        uint64_t x = step;
#pragma GCC unroll 1
        for (uint64_t i = 0; i < grain; i++)
            x = x * A + C;
        sum += x;
        port_yield();
    }
    task->sum = sum;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    uint64_t lo = job->task[worker][TASK_LO], share = job->task[worker][TASK_HI] - lo;
    struct task task[LIVE_MAX];
    int started[LIVE_MAX];
    for (unsigned i = 0; i < live; i++) {
        task[i] = (struct task){lo + share * i / live, lo + share * (i + 1) / live, 0};
        started[i] = port_task(run_task, &task[i]);
        if (started[i] < 0)
            port_fail("a task could not be started");
    }
    for (unsigned i = 0; i < live; i++) {
        if (port_task_join(started[i]) != 0)
            port_fail("a task did not finish its work");
        slot->value[VALUE_STEPS] += task[i].hi - task[i].lo;
        slot->value[VALUE_SUM] += task[i].sum;
    }
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t done = 0, sum = 0;
    for (unsigned i = 0; i < job->workers; i++) {
        done += job->slot[i].value[VALUE_STEPS];
        sum += job->slot[i].value[VALUE_SUM];
    }
    fields[0] = (struct bench_field){"steps", done, 0};
    fields[1] = (struct bench_field){"sum", sum, 1};
    return 2;
}

static const char *const param_names[] = {"steps", "grain", "live", NULL};
static const char *const task_names[] = {"lo", "hi", NULL}; // the share contains lo, but not hi
static const char *const value_names[] = {"steps", "#sum", NULL};

const struct bench_workload bench_workload = {
    .name = "tasks",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
