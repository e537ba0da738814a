// spawn: create and join threads or processes, one short errand each.
//
// The errands are divided equally among the workers. A worker creates up to `live` threads (kind=thread) or
// processes (kind=process), joins them, reads their answers, and goes on with the next. The answer of errand
// i is what `grain` turns make of random number i. Whoever does an errand counts it.
//
// A worker that did its errands itself would give the same answers. So an errand notes where its stack is, and
// counts itself in a variable that is not shared: a thread has another stack, a process another variable. One
// that did the next errand too, for which nobody is created then, does it before it was asked for.
#include "work.h"

#define ERRANDS_MAX 100000u
#define TURNS_MAX 1000000u
#define LIVE_MAX 16u

#define STACK_FAR 16384u // no function here needs as much

enum { VALUE_MADE, VALUE_SUM, VALUE_ELSEWHERE };

struct errand {
    _Alignas(64) uint64_t number;
    uint64_t grain, answer;
    uint64_t stack;
    uint32_t asked;
    uint32_t done; // how often, since it was asked for
};

struct shared {
    uint64_t errands, live;
    uint64_t threads;
    struct errand *errand;
};

static const char *prepare(struct bench_job *job) {
    uint64_t errands = bench_param_u64("errands", 0), grain = bench_param_u64("grain", 0);
    uint64_t live = bench_param_u64("live", 0);
    int threads = bench_param_is("kind", "thread");
    if (errands < 1 || errands > ERRANDS_MAX)
        return "bench.errands must be 1 to 100000";
    if (grain > TURNS_MAX)
        return "bench.grain must be 0 to 1000000";
    if (live < 1 || live > LIVE_MAX)
        return "bench.live must be 1 to 16";
    if (!threads && !bench_param_is("kind", "process"))
        return "bench.kind must be thread or process";
    struct shared *shared = port_shared(sizeof *shared);
    struct errand *errand = port_shared(errands * sizeof *errand);
    if (shared == NULL || errand == NULL)
        return "no memory for the errands";
    for (uint64_t i = 0; i < errands; i++) // touches the pages, so that work() takes no page fault for them
        errand[i] = (struct errand){.number = i, .grain = grain};
    *shared = (struct shared){errands, live, (uint64_t)threads, errand};
    job->data = shared;
    bench_share(job, errands);
    return NULL;
}

static uint64_t done_here; // in this address space; for processes only

static void run_errand(struct errand *errand) {
    errand->stack = (uint64_t)&errand;
    errand->answer = bench_turns(bench_mix(errand->number), errand->grain);
    errand->done += errand->asked;
}

static void thread_body(void *argument) {
    run_errand(argument);
}

static void process_body(uint64_t argument) {
    run_errand((struct errand *)argument);
    done_here++;
}

static int create(const struct shared *shared, struct errand *errand) {
    errand->asked = 1;
    int number =
        shared->threads ? port_task(thread_body, errand) : port_child(process_body, (uint64_t)errand);
    if (number < 0)
        port_fail("a thread or process could not be created");
    return number;
}

static void join(const struct shared *shared, int number) {
    if ((shared->threads ? port_task_join(number) : port_child_wait(number)) != 0)
        port_fail("a thread or process did not do its errand");
}

static int far(uint64_t one, uint64_t other) {
    return (one > other ? one - other : other - one) > STACK_FAR;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct shared *shared = job->data;
    uint64_t at = job->task[worker][TASK_LO], end = job->task[worker][TASK_HI], sum = 0, made = 0;
    uint64_t elsewhere = 0;
    while (at < end) {
        int started[LIVE_MAX];
        unsigned count = (unsigned)(end - at < shared->live ? end - at : shared->live);
        for (unsigned i = 0; i < count; i++)
            started[i] = create(shared, &shared->errand[at + i]);
        for (unsigned i = 0; i < count; i++) {
            join(shared, started[i]);
            sum += shared->errand[at + i].answer;
            elsewhere += !shared->threads || far(shared->errand[at + i].stack, (uint64_t)started);
        }
        made += count;
        at += count;
    }
    slot->value[VALUE_MADE] = made;
    slot->value[VALUE_SUM] = sum;
    slot->value[VALUE_ELSEWHERE] = elsewhere - done_here;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    const struct shared *shared = job->data;
    uint64_t lost = 0, twice = 0, fold = 0;
    for (uint64_t i = 0; i < shared->errands; i++) {
        lost += shared->errand[i].done == 0;
        twice += shared->errand[i].done > 1;
        fold = bench_fold(fold, shared->errand[i].answer);
    }
    fields[0] = (struct bench_field){"lost", lost, 0};
    fields[1] = (struct bench_field){"twice", twice, 0};
    fields[2] = (struct bench_field){"fold", fold, 1};
    return 3;
}

static const char *const param_names[] = {"kind", "errands", "grain", "live", NULL};
static const char *const task_names[] = {"lo", "hi", NULL};
static const char *const value_names[] = {"made", "#sum", "elsewhere", NULL};

const struct bench_workload bench_workload = {
    .name = "spawn",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
