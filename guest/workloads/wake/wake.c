// wake: workers that sleep on a parked word until another one posts it, and how long that takes.
//
// pattern=pong: two workers per CPU, in pairs. The workers 2i and 2i + 1 post to each other by turns,
// `rounds` round trips of all pairs together. The message is a number; each side makes `turns` turns with it.
//
// pattern=fan: one worker per CPU, and worker 0 in addition, which posts to all of them at once and sleeps
// until the last one has answered, `rounds` times. In each round the others divide `turns` turns among them.
// All of them start from the posted number plus their own; the next number is the sum of what they made.
//
// A wake-up is from just before the post to the clock of the woken worker.
#include "work.h"

#define ROUNDS_MAX 10000000u
#define TURNS_MAX 1000000000u

enum { VALUE_WAKES, VALUE_TURNS, VALUE_NUMBER };
enum { HIST_WAKEUP };

// What one worker posts to others. `when` and `number` are written before the word is posted.
struct post {
    struct bench_word round;
    uint64_t when, number;
};

struct shared {
    uint64_t turns;
    uint32_t fan;
    uint32_t rounds;
    struct post post[BENCH_MAX_WORKERS]; // pong: each worker waits at its own; fan: 0 for worker 0, 1 for all
    _Alignas(128) uint32_t answered;
    _Alignas(128) uint64_t sum;
};

static const char *prepare(struct bench_job *job) {
    uint64_t rounds = bench_param_u64("rounds", 0), turns = bench_param_u64("turns", 0);
    int fan = bench_param_is("pattern", "fan");
    if (rounds < BENCH_MAX_WORKERS || rounds > ROUNDS_MAX)
        return "bench.rounds must be 64 to 10000000";
    if (turns > TURNS_MAX)
        return "bench.turns must be 0 to 1000000000";
    if (!fan && !bench_param_is("pattern", "pong"))
        return "bench.pattern must be pong or fan";
    if (job->cpus > (fan ? BENCH_MAX_WORKERS - 1 : BENCH_MAX_WORKERS / 2))
        return "too many CPUs: pattern=pong has two workers for each, pattern=fan one more than CPUs";
    struct shared *shared = port_shared(sizeof *shared);
    if (shared == NULL)
        return "no memory for the words";
    for (unsigned k = 0; k < BENCH_MAX_WORKERS; k++) // touches the pages, too
        shared->post[k] = (struct post){.number = 0};
    shared->turns = turns;
    shared->fan = (uint32_t)fan;
    shared->rounds = (uint32_t)rounds;
    job->data = shared;
    job->workers = fan ? job->cpus + 1 : 2 * job->cpus;
    for (unsigned k = 0; k < job->workers; k++) {
        job->task[k][TASK_LO] = fan ? 0 : rounds * (k / 2) / job->cpus;
        job->task[k][TASK_HI] = fan ? rounds : rounds * (k / 2 + 1) / job->cpus;
    }
    return NULL;
}

static void send(struct post *post, uint32_t round, uint64_t number) {
    post->number = number;
    post->when = port_now();
    bench_post(&post->round, round);
}

// Returns the number that came with the post, and records the wake-up.
static uint64_t receive(struct post *post, uint32_t round, struct bench_hist *wakeup) {
    bench_await(&post->round, round);
    bench_record(wakeup, port_now() - post->when);
    return post->number;
}

static uint64_t pong(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct shared *shared = job->data;
    struct bench_hist *wakeup = bench_hist(job, worker, HIST_WAKEUP);
    struct post *mine = &shared->post[worker], *other = &shared->post[worker ^ 1];
    uint32_t rounds = (uint32_t)(job->task[worker][TASK_HI] - job->task[worker][TASK_LO]);
    uint64_t number = worker;
    for (uint32_t round = 1; round <= rounds; round++) {
        if (worker % 2 == 1)
            number = receive(mine, round, wakeup);
        number = bench_turns(number, shared->turns);
        send(other, round, number);
        if (worker % 2 == 0)
            number = receive(mine, round, wakeup);
        slot->value[VALUE_WAKES]++;
        slot->value[VALUE_TURNS] += shared->turns;
    }
    return number;
}

static uint64_t fan_out(struct bench_job *job) {
    struct shared *shared = job->data;
    uint64_t number = 0;
    for (uint32_t round = 1; round <= shared->rounds; round++) {
        shared->answered = 0; // all wait for the post
        shared->sum = 0;
        send(&shared->post[1], round, number);
        bench_await(&shared->post[0].round, round);
        number = shared->sum;
    }
    return number;
}

static uint64_t fan_in(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct shared *shared = job->data;
    struct bench_hist *wakeup = bench_hist(job, worker, HIST_WAKEUP);
    uint64_t number = 0, share = shared->turns / (job->workers - 1);
    for (uint32_t round = 1; round <= shared->rounds; round++) {
        number = receive(&shared->post[1], round, wakeup);
        number = bench_turns(number + worker, share);
        __atomic_fetch_add(&shared->sum, number, __ATOMIC_RELAXED);
        slot->value[VALUE_WAKES]++;
        slot->value[VALUE_TURNS] += share;
        // release: the last one posts the sums of all; acquire: it has seen them
        if (__atomic_add_fetch(&shared->answered, 1, __ATOMIC_ACQ_REL) == job->workers - 1)
            bench_post(&shared->post[0].round, round);
    }
    return number;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct shared *shared = job->data;
    uint64_t number = !shared->fan  ? pong(job, worker, slot)
                      : worker == 0 ? fan_out(job)
                                    : fan_in(job, worker, slot);
    slot->value[VALUE_NUMBER] = number;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    const struct shared *shared = job->data;
    uint64_t wakes = 0;
    for (unsigned k = 0; k < job->workers; k++)
        wakes += job->slot[k].value[VALUE_WAKES];
    fields[0] = (struct bench_field){"wakes", wakes, 0};
    fields[1] = (struct bench_field){"rounds", shared->rounds, 0};
    return 2;
}

static const char *const param_names[] = {"pattern", "rounds", "turns", NULL};
static const char *const task_names[] = {"lo", "hi", NULL};
static const char *const value_names[] = {"wakes", "turns", "#number", NULL};
static const char *const hist_names[] = {"wakeup", NULL};

const struct bench_workload bench_workload = {
    .name = "wake",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .hist_names = hist_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
