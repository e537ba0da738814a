// contend: all workers want one lock, again and again, until it was taken `takes` times together.
//
// The holder counts, and turns a chain `hold` times. Counter and chain are ordinary memory: two holders at
// once would lose a count or a turn. After the lock is free again the worker turns a number of its own
// `delay` times. With n workers the rate can therefore grow up to (hold + delay) / hold times; how the takes
// divide among the workers shows the fairness of lock and system.
//
// lock=spin waits in a loop (bench_lock). lock=park is a lock of three states: 0 free, 1 taken, 2 taken and
// somebody may sleep (Ulrich Drepper, "Futexes are tricky", mutex2).
#include "work.h"

#define TAKES_MAX 100000000u
#define TURNS_MAX 100000000u

enum { VALUE_TAKES, VALUE_OWN };

struct shared {
    struct bench_lock spin;
    struct bench_word park;
    _Alignas(128) uint64_t count, chain; // the holder's
    _Alignas(128) uint64_t takes;
    uint64_t hold, delay;
    uint32_t parks;
};

static const char *prepare(struct bench_job *job) {
    uint64_t takes = bench_param_u64("takes", 0);
    uint64_t hold = bench_param_u64("hold", 0), delay = bench_param_u64("delay", 0);
    int parks = bench_param_is("lock", "park");
    if (takes < 1 || takes > TAKES_MAX)
        return "bench.takes must be 1 to 100000000";
    if (hold > TURNS_MAX || delay > TURNS_MAX)
        return "bench.hold and bench.delay must be 0 to 100000000";
    if (!parks && !bench_param_is("lock", "spin"))
        return "bench.lock must be park or spin";
    struct shared *shared = port_shared(sizeof *shared);
    if (shared == NULL)
        return "no memory for the lock";
    *shared = (struct shared){.takes = takes, .hold = hold, .delay = delay, .parks = (uint32_t)parks};
    job->data = shared;
    return NULL;
}

// These two are functions of their own, so that a machine that counts calls sees who has the lock.
__attribute__((noinline)) static void contend_take(struct shared *shared) {
    if (!shared->parks) {
        bench_lock(&shared->spin);
        return;
    }
    uint32_t *word = &shared->park.is, is = 0;
    if (__atomic_compare_exchange_n(word, &is, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    if (is != 2)
        is = __atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE);
    for (; is != 0; is = __atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE))
        port_wait(word, 2, 0);
}

__attribute__((noinline)) static void contend_release(struct shared *shared) {
    if (!shared->parks)
        bench_unlock(&shared->spin);
    else if (__atomic_exchange_n(&shared->park.is, 0, __ATOMIC_RELEASE) == 2)
        port_wake(&shared->park.is, 1);
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct shared *shared = job->data;
    uint64_t takes = 0, own = worker;
    for (;;) {
        contend_take(shared);
        int over = shared->count == shared->takes;
        if (!over) {
            shared->count++;
            shared->chain = bench_turns(shared->chain, shared->hold);
        }
        contend_release(shared);
        if (over)
            break;
        takes++;
        own = bench_turns(own, shared->delay);
    }
    slot->value[VALUE_TAKES] = takes;
    slot->value[VALUE_OWN] = own;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    const struct shared *shared = job->data;
    fields[0] = (struct bench_field){"takes", shared->count, 0};
    fields[1] = (struct bench_field){"chain", shared->chain, 1};
    return 2;
}

static const char *const param_names[] = {"takes", "hold", "delay", "lock", NULL};
static const char *const task_names[] = {NULL};
static const char *const value_names[] = {"takes", "#own", NULL};

const struct bench_workload bench_workload = {
    .name = "contend",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
