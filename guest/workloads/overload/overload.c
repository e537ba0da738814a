// overload: threads that all begin on the CPUs of one node, while the CPUs of others are idle; what the scheduler
// makes of it.
//
// The cases, but for the first, are those of Lozi et al., "The Linux Scheduler: a Decade of Wasted Cores" (EuroSys
// 2016). The CPUs are `nodes` equal parts, in order, of which the first is home.
//
// case=home: one thread for each CPU, all at home. It shows what the others add.
// case=group: one hog on each other node, each a scheduling group of its own, and beside them one group of as
// many threads as there are other CPUs, all at home. Fair groups give a thread of the large one a small weight.
// case=hops: two threads for each CPU of home, which may run on home and on the node half way round, which is
// two hops away in a ring of four.
// case=wake: two threads for each CPU, in pairs that wake each other by turns, all at home; so one thread for
// each CPU wants to run, and its waker is always at home.
// case=hotplug: as home, after the last CPU was taken away and given back.
//
// Each worker makes `turns` turns of a number of its own; with case=wake in `rounds` parts, and the two of a
// pair turn the same number. Workers are processes. Each is at home before the starting line and may run on
// all its CPUs from there on: what moves it is the scheduler alone.
#include "work.h"

#define TURNS_MAX 10000000000u
#define ROUNDS_MAX 1000000u
#define NODES_MAX 16u

enum { TASK_HOME, TASK_MAY, TASK_GROUP };
enum { VALUE_TURNS, VALUE_NUMBER };

struct shared {
    uint64_t turns;
    uint32_t rounds; // 0: not in pairs
    struct bench_word posted[BENCH_MAX_WORKERS];
    _Alignas(128) uint64_t number[BENCH_MAX_WORKERS / 2];
};

static uint64_t cpus_from(unsigned first, unsigned count) {
    return (count == 64 ? ~0ull : (1ull << count) - 1) << first;
}

// The workers of each case: how many there are, and where they may run.
static const char *place(struct bench_job *job, unsigned nodes) {
    unsigned each = job->cpus / nodes, hogs = 0, far = nodes / 2;
    uint64_t home = cpus_from(0, each), may = cpus_from(0, job->cpus);
    job->workers = job->cpus;
    if (bench_param_is("case", "group")) {
        hogs = nodes - 1;
    } else if (bench_param_is("case", "hops")) {
        job->workers = 2 * each;
        may = home | cpus_from(far * each, each);
    } else if (bench_param_is("case", "wake")) {
        job->workers = 2 * job->cpus;
    } else if (!bench_param_is("case", "home") && !bench_param_is("case", "hotplug")) {
        return "bench.case must be home, group, hops, wake or hotplug";
    }
    if (job->workers > BENCH_MAX_WORKERS)
        return "too many CPUs: case=wake has two workers for each";
    for (unsigned k = 0; k < job->workers; k++) {
        job->task[k][TASK_HOME] = k < hogs ? cpus_from((k + 1) * each, 1) : home;
        job->task[k][TASK_MAY] = may;
        job->task[k][TASK_GROUP] = k < hogs;
    }
    return NULL;
}

// What the coordinator does to the system before it starts the workers.
static const char *arrange(const struct bench_job *job) {
    if (bench_param_is("case", "group") && port_group() != 0)
        return "the group of the many could not be made";
    if (bench_param_is("case", "hotplug") &&
        (port_cpu_online(job->cpus - 1, 0) != 0 || port_cpu_online(job->cpus - 1, 1) != 0))
        return "the last CPU could not be taken away and given back";
    return NULL;
}

static const char *prepare(struct bench_job *job) {
    uint64_t turns = bench_param_u64("turns", 0), rounds = bench_param_u64("rounds", 0);
    uint64_t nodes = bench_param_u64("nodes", 0);
    if (turns < 1 || turns > TURNS_MAX)
        return "bench.turns must be 1 to 10000000000";
    if (rounds < 1 || rounds > ROUNDS_MAX || turns % rounds != 0)
        return "bench.rounds must be 1 to 1000000, and divide bench.turns";
    if (nodes < 2 || nodes > NODES_MAX || job->cpus % nodes != 0)
        return "bench.nodes must be 2 to 16, and divide the number of CPUs";
    struct shared *shared = port_shared(sizeof *shared);
    if (shared == NULL)
        return "no memory for the numbers";
    shared->turns = turns;
    shared->rounds = bench_param_is("case", "wake") ? (uint32_t)rounds : 0;
    for (unsigned k = 0; k < BENCH_MAX_WORKERS; k++) // touches the pages, too
        shared->posted[k].is = 0;
    for (unsigned k = 0; k < BENCH_MAX_WORKERS / 2; k++)
        shared->number[k] = k;
    job->data = shared;
    const char *wrong = place(job, (unsigned)nodes);
    return wrong != NULL ? wrong : arrange(job);
}

// A worker that sleeps at the starting line is woken near the CPU that it slept on.
static void before(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)slot;
    const uint64_t *task = job->task[worker];
    if (task[TASK_GROUP] && port_group() != 0)
        port_fail("the group of a hog could not be made");
    if (port_allow(task[TASK_HOME]) != 0 || port_allow(task[TASK_MAY]) != 0)
        port_fail("a worker could not be placed");
}

// The workers 2i and 2i + 1 turn the number of pair i by turns, the even one first.
static uint64_t in_pairs(struct shared *shared, unsigned worker, struct bench_slot *slot) {
    struct bench_word *mine = &shared->posted[worker], *other = &shared->posted[worker ^ 1];
    uint64_t *shared_number = &shared->number[worker / 2], part = shared->turns / shared->rounds, number = 0;
    for (uint32_t round = 1; round <= shared->rounds; round++) {
        bench_await(mine, worker % 2 == 0 ? round - 1 : round);
        number = *shared_number = bench_turns(*shared_number, part);
        slot->value[VALUE_TURNS] += part;
        bench_post(other, round); // from here on the number is the other's
    }
    return number;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct shared *shared = job->data;
    if (shared->rounds != 0) {
        slot->value[VALUE_NUMBER] = in_pairs(shared, worker, slot);
    } else {
        slot->value[VALUE_NUMBER] = bench_turns(worker, shared->turns);
        slot->value[VALUE_TURNS] = shared->turns;
    }
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t turns = 0, left = 0;
    for (unsigned k = 0; k < job->workers; k++) {
        turns += job->slot[k].value[VALUE_TURNS];
        left += !(job->task[k][TASK_HOME] >> job->slot[k].cpu_end & 1);
    }
    fields[0] = (struct bench_field){"turns", turns, 0};
    fields[1] = (struct bench_field){"left", left, 0};
    return 2;
}

static const char *const param_names[] = {"case", "nodes", "turns", "rounds", NULL};
static const char *const task_names[] = {"home", "may", "group", NULL};
static const char *const value_names[] = {"turns", "#number", NULL};

const struct bench_workload bench_workload = {
    .name = "overload",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .before = before,
    .work = work,
    .result = result,
};
