// barrier: a loop of phases; no worker enters a phase before all have left the last one.
//
// A phase is `turns` turns, which the workers share unevenly: worker k has the weight 8 to 15, by a random
// number of the phase and k. Who has the most work changes from phase to phase, and the others wait.
//
// In phase p a worker starts from the sum of all workers' values after phase p - 1, plus its own number, and
// its value is what the turns make of that. So a phase that is skipped, or entered too early, changes all
// later values of all workers. Values of even and of odd phases have places of their own: a worker is at most
// one phase ahead of those that still read.
#include "work.h"

#define PHASES_MAX 1000000u
#define TURNS_MAX 1000000000u

enum { VALUE_PHASES, VALUE_TURNS, VALUE_FOLD };

struct loop {
    struct bench_barrier barrier;
    uint64_t phases, turns;
    struct {
        _Alignas(128) uint64_t is;
    } value[2][BENCH_MAX_WORKERS];
};

static const char *prepare(struct bench_job *job) {
    uint64_t phases = bench_param_u64("phases", 0), turns = bench_param_u64("turns", 0);
    if (phases < 1 || phases > PHASES_MAX)
        return "bench.phases must be 1 to 1000000";
    if (turns < 1 || turns > TURNS_MAX)
        return "bench.turns must be 1 to 1000000000";
    struct loop *loop = port_shared(sizeof *loop);
    if (loop == NULL)
        return "no memory for the phases";
    for (unsigned k = 0; k < BENCH_MAX_WORKERS; k++) // touches the pages, too
        loop->value[0][k].is = loop->value[1][k].is = 0;
    loop->barrier.members = job->workers;
    loop->phases = phases;
    loop->turns = turns;
    job->data = loop;
    return NULL;
}

static uint64_t weight(uint64_t phase, unsigned worker) {
    return 8 + bench_mix(phase * BENCH_MAX_WORKERS + worker) % 8;
}

static uint64_t turns_of(const struct bench_job *job, uint64_t phase, unsigned worker) {
    const struct loop *loop = job->data;
    uint64_t all = 0;
    for (unsigned k = 0; k < job->workers; k++)
        all += weight(phase, k);
    return loop->turns * weight(phase, worker) / all;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct loop *loop = job->data;
    uint64_t done = 0, turns = 0, fold = 0;
    for (uint64_t phase = 0; phase < loop->phases; phase++) {
        uint64_t x = worker, share = turns_of(job, phase, worker);
        for (unsigned k = 0; k < job->workers; k++)
            x += loop->value[(phase + 1) % 2][k].is;
        x = bench_turns(x, share);
        loop->value[phase % 2][worker].is = x;
        fold = bench_fold(fold, x);
        turns += share;
        done++;
        bench_barrier(&loop->barrier);
    }
    slot->value[VALUE_PHASES] = done;
    slot->value[VALUE_TURNS] = turns;
    slot->value[VALUE_FOLD] = fold;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    const struct loop *loop = job->data;
    uint64_t sum = 0;
    for (unsigned k = 0; k < job->workers; k++)
        sum += loop->value[(loop->phases + 1) % 2][k].is;
    fields[0] = (struct bench_field){"phases", loop->barrier.phase, 0}; // how often all were at the barrier
    fields[1] = (struct bench_field){"sum", sum, 1};
    return 2;
}

static const char *const param_names[] = {"phases", "turns", NULL};
static const char *const task_names[] = {NULL};
static const char *const value_names[] = {"phases", "turns", "#fold", NULL};

const struct bench_workload bench_workload = {
    .name = "barrier",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
