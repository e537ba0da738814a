// jobs: build a graph of jobs as a parallel make does, each job in a short process of its own.
//
// Job i needs the answers of `inputs` earlier jobs, chosen among the `reach` jobs before it by random
// numbers from `seed`; the first ones need what there is. Its process folds random number i and these
// answers, makes `grain` turns of that, and leaves the answer for others. The workers take the jobs in
// order, and wait for the inputs of theirs. A job is taken after all that it needs, so the worker that has
// the first unfinished one never waits. The root is the fold of all answers.
//
// A worker that did its jobs itself would give the same answers. So a job counts itself in a variable that
// is not shared, where the worker must not find it.
#include "work.h"

#define JOBS_MAX 100000u
#define INPUTS_MAX 16u
#define REACH_MAX 100000u
#define GRAIN_MAX 10000000u
#define SEED_SPAN 0x100000000ull // more random numbers than any graph has inputs

enum { VALUE_MADE, VALUE_SUM, VALUE_AT_HOME };

struct graph {
    _Alignas(128) uint64_t next; // the first job that nobody has taken
    _Alignas(128) uint64_t jobs;
    uint64_t inputs, reach, grain, seed;
    struct target *target;
};

struct target {
    struct bench_word built; // 1 once the answer is there
    uint64_t answer;
    uint32_t done; // how often
    const struct graph *graph;
};

static const char *parameters(struct graph *graph) {
    graph->jobs = bench_param_u64("jobs", 0);
    graph->inputs = bench_param_u64("inputs", 0);
    graph->reach = bench_param_u64("reach", 0);
    graph->grain = bench_param_u64("grain", 0);
    graph->seed = bench_param_u64("seed", 0);
    if (graph->jobs < 1 || graph->jobs > JOBS_MAX)
        return "bench.jobs must be 1 to 100000";
    if (graph->inputs > INPUTS_MAX)
        return "bench.inputs must be 0 to 16";
    if (graph->reach < 1 || graph->reach > REACH_MAX)
        return "bench.reach must be 1 to 100000";
    if (graph->grain > GRAIN_MAX)
        return "bench.grain must be 0 to 10000000";
    return NULL;
}

static const char *prepare(struct bench_job *job) {
    struct graph *graph = port_shared(sizeof *graph);
    if (graph == NULL)
        return "no memory for the graph";
    const char *wrong = parameters(graph);
    if (wrong != NULL)
        return wrong;
    graph->target = port_shared(graph->jobs * sizeof *graph->target);
    if (graph->target == NULL)
        return "no memory for the jobs";
    for (uint64_t i = 0; i < graph->jobs; i++) // touches the pages, so that work() takes no page fault for them
        graph->target[i].graph = graph;
    job->data = graph;
    return NULL;
}

// The number of an input of a job, which is not the first one.
static uint64_t input_of(const struct graph *graph, uint64_t job, uint64_t input) {
    uint64_t span = job < graph->reach ? job : graph->reach;
    return job - 1 - bench_mix(graph->seed * SEED_SPAN + job * graph->inputs + input) % span;
}

static uint64_t done_here; // in this address space

static void job_body(uint64_t argument) {
    struct target *target = (struct target *)argument;
    const struct graph *graph = target->graph;
    uint64_t number = (uint64_t)(target - graph->target), hash = bench_mix(number);
    for (uint64_t input = 0; number > 0 && input < graph->inputs; input++)
        hash = bench_fold(hash, graph->target[input_of(graph, number, input)].answer);
    target->answer = bench_turns(hash, graph->grain);
    target->done++;
    done_here++;
}

static void await_inputs(struct graph *graph, uint64_t job) {
    for (uint64_t input = 0; job > 0 && input < graph->inputs; input++)
        bench_await(&graph->target[input_of(graph, job, input)].built, 1);
}

static void build(struct target *target) {
    int child = port_child(job_body, (uint64_t)target);
    if (child < 0 || port_child_wait(child) != 0)
        port_fail("a process could not do its job");
    bench_post(&target->built, 1);
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct graph *graph = job->data;
    uint64_t number, made = 0, sum = 0;
    (void)worker; // all take from the same graph
    while ((number = bench_next(&graph->next)) < graph->jobs) {
        await_inputs(graph, number);
        build(&graph->target[number]);
        made++;
        sum += graph->target[number].answer;
    }
    slot->value[VALUE_MADE] = made;
    slot->value[VALUE_SUM] = sum;
    slot->value[VALUE_AT_HOME] = done_here;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    const struct graph *graph = job->data;
    uint64_t lost = 0, twice = 0, root = 0;
    for (uint64_t i = 0; i < graph->jobs; i++) {
        lost += graph->target[i].done == 0;
        twice += graph->target[i].done > 1;
        root = bench_fold(root, graph->target[i].answer);
    }
    fields[0] = (struct bench_field){"lost", lost, 0};
    fields[1] = (struct bench_field){"twice", twice, 0};
    fields[2] = (struct bench_field){"root", root, 1};
    return 3;
}

static const char *const param_names[] = {"jobs", "inputs", "reach", "grain", "seed", NULL};
static const char *const task_names[] = {NULL};
static const char *const value_names[] = {"made", "#sum", "at_home", NULL};

const struct bench_workload bench_workload = {
    .name = "jobs",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
