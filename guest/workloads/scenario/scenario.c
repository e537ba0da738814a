// scenario: groups of threads with kinds of work, settings and a time line, as a file of the user says.
//
// The parameters p1 to p4 are the plan (plan.h). The workers are the threads of all groups, in order, and
// behind them the director, if there is a change to make (director.h). A thread works from its group's
// begin to its end in rounds (kinds.h), and reports how many it made, of how many turns, and a number that
// these turns lead to.
//
// Fails with a sentence for a plan that cannot be carried out.
#include "director.h"
#include "kinds.h"

enum { TASK_GROUP };
enum { VALUE_ROUNDS, VALUE_TURNS, VALUE_NUMBER };
#define OF_DIRECTOR PLAN_GROUPS // in the place of its group
#define TURNS_MAX 1000000000u
#define PAGES_MAX 4096u
#define CALLS_MAX 1000000u

struct shared {
    struct plan plan;
    unsigned first[PLAN_GROUPS + 1]; // the first worker of each group, and the one behind the last
    int channel[BENCH_MAX_WORKERS];
    uint64_t process[BENCH_MAX_WORKERS]; // set by each worker before the starting line
    struct bench_word word[BENCH_MAX_WORKERS];
};

static const char *check_group(const struct plan *plan, const struct plan_entry *group, unsigned left) {
    uint64_t kind = plan_of(group, 'k'), threads = plan_of(group, 't'), count = plan_of(group, 'o');
    if (threads < 1 || threads > left)
        return "a group of the plan has no thread, or all have more than 63";
    if (kind >= KINDS || plan_of(group, 'r') < 1 || plan_of(group, 'r') > TURNS_MAX)
        return "a group of the plan has no known kind, or turns that are not 1 to 1000000000";
    if (kind == KIND_PIPE && threads % 2 != 0)
        return "the threads of a pipe are pairs";
    if (kind == KIND_FAULTS && (count < 1 || count > PAGES_MAX))
        return "a group of the plan has too many pages, or none";
    if (kind == KIND_CALLS && count > CALLS_MAX)
        return "a group of the plan has too many calls";
    if (plan_of(group, 'c') > plan->limits)
        return "a group of the plan is in no control group of it";
    return NULL;
}

static const char *check_changes(const struct plan *plan) {
    for (unsigned i = 0; i < plan->changes; i++) {
        const struct plan_entry *to = &plan->change[i];
        if (plan_moves_cpu(to))
            continue;
        if (plan_has(to, 'l') ? plan_of(to, 'l') - 1 >= plan->limits : plan_of(to, 'g') >= plan->groups)
            return "a change of the plan is of no group of it";
        if (plan_of(to, 'c') > plan->limits)
            return "a change of the plan moves to no control group of it";
    }
    return NULL;
}

// Numbers the workers of each group, and gives them what they wait for each other with.
static const char *place_groups(struct bench_job *job, struct shared *shared) {
    unsigned used = 0;
    for (unsigned i = 0; i < shared->plan.groups; i++) {
        const struct plan_entry *group = &shared->plan.group[i];
        const char *wrong = check_group(&shared->plan, group, BENCH_MAX_WORKERS - 1 - used);
        if (wrong != NULL)
            return wrong;
        shared->first[i] = used;
        for (uint64_t k = 0; k < plan_of(group, 't'); k++, used++) {
            job->task[used][TASK_GROUP] = i;
            shared->word[used].is = 0; // touches the page, too
            if (plan_of(group, 'k') == KIND_PIPE && (shared->channel[used] = port_channel()) < 0)
                return "a pipe could not be made";
        }
    }
    shared->first[shared->plan.groups] = used;
    if (shared->plan.changes != 0)
        job->task[used++][TASK_GROUP] = OF_DIRECTOR;
    job->workers = used;
    return used == 0 ? "the plan has no group" : NULL;
}

static const char *prepare(struct bench_job *job) {
    struct shared *shared = port_shared(sizeof *shared);
    if (shared == NULL)
        return "no memory for the plan";
    if (job->runtime == 0)
        return "bench.time_ns must not be 0";
    job->data = shared;
    const char *wrong = plan_read(&shared->plan);
    if (wrong == NULL)
        wrong = check_changes(&shared->plan);
    if (wrong == NULL)
        wrong = place_groups(job, shared);
    if (wrong == NULL)
        wrong = director_can(&shared->plan);
    for (unsigned i = 0; i < shared->plan.limits && wrong == NULL; i++)
        set_limits(i + 1, &shared->plan.limit[i]);
    return wrong;
}

static void before(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct shared *shared = job->data;
    uint64_t group = job->task[worker][TASK_GROUP];
    (void)slot;
    shared->process[worker] = port_process();
    if (group == OF_DIRECTOR)
        lead();
    else
        set_thread(&shared->plan.group[group], shared->process[worker]);
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct shared *shared = job->data;
    uint64_t at = job->task[worker][TASK_GROUP], start = job->deadline - job->runtime;
    if (at == OF_DIRECTOR) {
        direct(&shared->plan, start, shared->process, shared->first);
        slot->value[VALUE_ROUNDS] = shared->plan.changes;
        return;
    }
    const struct plan_entry *group = &shared->plan.group[at];
    unsigned first = shared->first[at];
    struct worker me = {
        .group = group,
        .begin = start + plan_ticks(group, 'b'),
        .until = plan_has(group, 'e') ? start + plan_ticks(group, 'e') : job->deadline,
        .number = worker,
        .place = worker - first,
        .members = shared->first[at + 1] - first,
        .words = &shared->word[first],
        .channels = &shared->channel[first],
    };
    rounds(&me);
    slot->value[VALUE_ROUNDS] = me.rounds;
    slot->value[VALUE_TURNS] = me.turns;
    slot->value[VALUE_NUMBER] = me.number;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t made[2] = {0};
    for (unsigned k = 0; k < job->workers; k++) {
        made[0] += job->slot[k].value[VALUE_ROUNDS];
        made[1] += job->slot[k].value[VALUE_TURNS];
    }
    fields[0] = (struct bench_field){"rounds", made[0], 0};
    fields[1] = (struct bench_field){"turns", made[1], 0};
    return 2;
}

static const char *const param_names[] = {"time_ns", "p1", "p2", "p3", "p4", NULL};
static const char *const task_names[] = {"group", NULL};
static const char *const value_names[] = {"rounds", "turns", "#number", NULL};

const struct bench_workload bench_workload = {
    .name = "scenario",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .before = before,
    .work = work,
    .result = result,
};
