// locks: four spinlocks that all workers want, again and again, until one was taken `takes` times together.
//
// The holder counts, and turns a chain `hold` times, in one cache line that belongs to the lock's holder. Both are
// ordinary memory: two holders at once lose a count or a turn. `holder` shows them directly. After the lock is free
// again the worker turns a number of its own `delay` times.
//
// tas     test-and-set: every waiting CPU writes to the lock's line all the time
// ttas    looks until the lock is free, and only then writes
// ticket  first come, first served; all who wait look at the same line, as in Linux 2.6.25 to 4.1
// mcs     first come, first served; each looks at a line of its own
//
// All from J. M. Mellor-Crummey and M. L. Scott, "Algorithms for Scalable Synchronization on Shared-Memory
// Multiprocessors", ACM TOCS 9(1), 1991. None has a back-off: what a back-off hides is what is shown here.
#include "work.h"

#define TAKES_MAX 100000000u
#define TURNS_MAX 100000000u
#define KINDS 4

enum { VALUE_TAKES, VALUE_OWN };

struct place { // one for each worker
    _Alignas(128) struct place *next; // in the queue of the lock mcs
    uint32_t waits;
    _Alignas(128) uint64_t passed; // how often others took the lock between two takes of this worker, at most
};

// Static, which threads share, so that each line has a name where moved lines are shown. Each is a struct, whose
// size is a multiple of its alignment: nothing else gets into its lines.
static struct {
    _Alignas(128) uint32_t taken;
} lock_tas; // ttas, too
static struct {
    _Alignas(128) uint32_t ticket, serving;
} lock_ticket;
static struct {
    _Alignas(128) struct place *last; // NULL: free
} lock_mcs;
static struct place place[BENCH_MAX_WORKERS];
static struct {
    _Alignas(128) uint64_t count, chain, holder, met;
} data; // the holder's
static struct {
    _Alignas(128) uint64_t takes, hold, delay;
    uint32_t kind;
} asked; // read-only once the workers run

// In each lock the acquire at the end of take() pairs with the release in drop().

static void tas_take(struct place *mine) {
    (void)mine;
    while (__atomic_exchange_n(&lock_tas.taken, 1, __ATOMIC_ACQUIRE) != 0)
        bench_relax();
}

static void ttas_take(struct place *mine) {
    (void)mine;
    while (__atomic_exchange_n(&lock_tas.taken, 1, __ATOMIC_ACQUIRE) != 0)
        while (__atomic_load_n(&lock_tas.taken, __ATOMIC_RELAXED) != 0)
            bench_relax();
}

static void tas_drop(struct place *mine) {
    (void)mine;
    __atomic_store_n(&lock_tas.taken, 0, __ATOMIC_RELEASE);
}

static void ticket_take(struct place *mine) {
    (void)mine;
    uint32_t ticket = __atomic_fetch_add(&lock_ticket.ticket, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&lock_ticket.serving, __ATOMIC_ACQUIRE) != ticket)
        bench_relax();
}

static void ticket_drop(struct place *mine) {
    (void)mine;
    __atomic_store_n(&lock_ticket.serving, lock_ticket.serving + 1, __ATOMIC_RELEASE);
}

static void mcs_take(struct place *mine) {
    mine->next = NULL;
    mine->waits = 1;
    // acq_rel: publishes this place; and the lock may have been free
    struct place *before = __atomic_exchange_n(&lock_mcs.last, mine, __ATOMIC_ACQ_REL);
    if (before == NULL)
        return;
    __atomic_store_n(&before->next, mine, __ATOMIC_RELEASE);
    while (__atomic_load_n(&mine->waits, __ATOMIC_ACQUIRE) != 0)
        bench_relax();
}

static void mcs_drop(struct place *mine) {
    struct place *next = __atomic_load_n(&mine->next, __ATOMIC_ACQUIRE), *last = mine;
    if (next == NULL) {
        if (__atomic_compare_exchange_n(&lock_mcs.last, &last, NULL, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return;
        // somebody has taken the place behind this one, and is about to say so
        while ((next = __atomic_load_n(&mine->next, __ATOMIC_ACQUIRE)) == NULL)
            bench_relax();
    }
    __atomic_store_n(&next->waits, 0, __ATOMIC_RELEASE);
}

static const struct {
    const char *name;
    void (*take)(struct place *mine);
    void (*drop)(struct place *mine);
} kinds[KINDS] = {
    {"tas", tas_take, tas_drop},
    {"ttas", ttas_take, tas_drop},
    {"ticket", ticket_take, ticket_drop},
    {"mcs", mcs_take, mcs_drop},
};

static const char *prepare(struct bench_job *job) {
    uint64_t takes = bench_param_u64("takes", 0);
    uint64_t hold = bench_param_u64("hold", 0), delay = bench_param_u64("delay", 0);
    uint32_t kind = 0;
    while (kind < KINDS && !bench_param_is("kind", kinds[kind].name))
        kind++;
    if (takes < 1 || takes > TAKES_MAX)
        return "bench.takes must be 1 to 100000000";
    if (hold > TURNS_MAX || delay > TURNS_MAX)
        return "bench.hold and bench.delay must be 0 to 100000000";
    if (kind == KINDS)
        return "bench.kind must be tas, ttas, ticket or mcs";
    asked.takes = takes;
    asked.hold = hold;
    asked.delay = delay;
    asked.kind = kind;
    data.count = data.chain = data.met = 0;
    lock_ticket.ticket = lock_ticket.serving = lock_tas.taken = 0;
    lock_mcs.last = NULL;
    for (unsigned k = 0; k < job->workers; k++)
        place[k].passed = 0; // all here for the first time, so that no worker has a page fault
    return NULL;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

// What the holder does; 0: the lock has been taken often enough. *count: how often, before this time.
static int section(unsigned worker, uint64_t *count) {
    *count = data.count;
    if (*count == asked.takes)
        return 0;
    // Atomic only for the compiler, which must not keep it in a register.
    __atomic_store_n(&data.holder, worker, __ATOMIC_RELAXED);
    data.count++;
    data.chain = bench_turns(data.chain, asked.hold);
    data.met += __atomic_load_n(&data.holder, __ATOMIC_RELAXED) != worker;
    return 1;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job;
    struct place *mine = &place[worker];
    void (*take)(struct place *) = kinds[asked.kind].take;
    void (*drop)(struct place *) = kinds[asked.kind].drop;
    uint64_t takes = 0, next = 0, own = worker, count;
    for (;;) {
        take(mine);
        int more = section(worker, &count);
        drop(mine);
        if (!more)
            break;
        if (takes++ != 0)
            mine->passed = larger(mine->passed, count - next);
        next = count + 1;
        own = bench_turns(own, asked.delay);
    }
    slot->value[VALUE_TAKES] = takes;
    slot->value[VALUE_OWN] = own;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t passed = 0;
    for (unsigned k = 0; k < job->workers; k++)
        passed = larger(passed, place[k].passed);
    fields[0] = (struct bench_field){"takes", data.count, 0};
    fields[1] = (struct bench_field){"chain", data.chain, 1};
    fields[2] = (struct bench_field){"met", data.met, 0};
    fields[3] = (struct bench_field){"passed", passed, 0};
    return 4;
}

static const char *const param_names[] = {"takes", "hold", "delay", "kind", NULL};
static const char *const task_names[] = {NULL};
static const char *const value_names[] = {"takes", "#own", NULL};

const struct bench_workload bench_workload = {
    .name = "locks",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
