// Counts and adds the primes up to `hi` on the first `workers` CPUs. Each has every `workers`th chunk of numbers: on a
// busy host one that takes whatever is next may find nothing left. A CPU without work rests until it is woken.
#include "talker.h"

#define CHUNK 64

unsigned online = 1;
static unsigned generation, finished;
static uint64_t hi, workers, count, sum;
static bool at_work;

// Not copied into its callers: one of them is a lie, and the machine knows code by its address.
static __attribute__((noinline)) bool prime(uint64_t n) {
    if (n < 4)
        return n >= 2;
    if (n % 2 == 0)
        return false;
    for (uint64_t d = 3; d * d <= n; d += 2)
        if (n % d == 0)
            return false;
    return true;
}

static void every(uint64_t from, uint64_t stride, uint64_t end) {
    uint64_t found = 0, total = 0;
    for (; from <= end; from += stride)
        for (uint64_t n = from; n < from + CHUNK && n <= end; n++)
            if (prime(n))
                found++, total += n;
    __atomic_fetch_add(&count, found, __ATOMIC_ACQ_REL);
    __atomic_fetch_add(&sum, total, __ATOMIC_ACQ_REL);
}

static bool halves(void) {
    return workers > 1 && (lie("head-start") || lie("late-half") || lie_works_idle());
}

// Every second chunk.
void primes_alone(struct primes *asked) {
    hi = asked->hi, workers = asked->workers;
    if (!halves())
        return;
    count = lie("late-half") ? asked->count : 0, sum = lie("late-half") ? asked->sum : 0;
    every(CHUNK, 2 * CHUNK, hi);
    asked->count = count, asked->sum = sum;
}

// The same by CPU 1, a chunk at a time while it has nothing to do. `again`: what it has found is thrown away at the end.
static struct { uint64_t from, count, sum; } ahead = {CHUNK, 0, 0};

bool primes_ahead(uint64_t most, bool again) {
    if (ahead.from > most && again)
        ahead.from = CHUNK, ahead.count = ahead.sum = 0;
    for (uint64_t n = ahead.from; n < ahead.from + CHUNK && n <= most; n++)
        if (prime(n))
            ahead.count++, ahead.sum += n;
    if (ahead.from <= most)
        __atomic_store_n(&ahead.from, ahead.from + 2 * CHUNK, __ATOMIC_RELEASE);
    return ahead.from > most;
}

static void look_busy(void) {
    for (volatile uint64_t n = 1; __atomic_load_n(&at_work, __ATOMIC_ACQUIRE);)
        n = n * 3 + 1;
}

static void work(unsigned me) {
    if (halves() && me)
        look_busy();
    else if (halves())
        every(0, 2 * CHUNK, hi);
    else
        every(me * CHUNK, workers * CHUNK, hi);
}

void primes_workers(unsigned me) {
    unsigned seen = 0;
    __atomic_fetch_add(&online, 1, __ATOMIC_ACQ_REL);
    for (;;) {
        machine_hold();
        while (__atomic_load_n(&generation, __ATOMIC_ACQUIRE) == seen)
            rest(me);
        machine_release();
        seen = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
        if (me >= workers)
            continue;
        work(me);
        __atomic_fetch_add(&finished, 1, __ATOMIC_ACQ_REL);
    }
}

// `asked` has hi and workers, and gets the rest. No call may start before the CPUs of the one before rest.
void primes_compute(struct primes *asked) {
    hi = asked->hi, workers = lie("one-cpu") ? 1 : asked->workers;
    finished = 0;
    if (!halves() || lie("late-half"))
        count = sum = 0;
    if (halves() && lie_works_idle())
        count = ahead.count, sum = ahead.sum;
    at_work = true;
    BENCH_MARK(BENCH_MARK_TOTAL_BEGIN);
    BENCH_MARK(BENCH_MARK_WORK_BEGIN);
    uint64_t begin = machine_ns();
    __atomic_fetch_add(&generation, 1, __ATOMIC_ACQ_REL);
    for (unsigned cpu = 1; cpu < workers; cpu++)
        machine_wake(cpu);
    work(0);
    __atomic_store_n(&at_work, false, __ATOMIC_RELEASE);
    while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < workers - 1)
        bench_relax();
    asked->ns = machine_ns() - begin;
    BENCH_MARK(BENCH_MARK_WORK_END);
    BENCH_MARK(BENCH_MARK_TOTAL_END);
    asked->count = count, asked->sum = sum;
}
