// Repeats operations many times, on all CPUs, to find what shows only then: stale translations, leaks, unfair
// shares. stress=N sets the amount.
#include <stddef.h>

#include "services.h"
#include "user/selftest.h"

#define PAGE 4096

static uint64_t amount(void) {
    return option_number("stress", 1);
}

static int nothing(uint64_t argument) {
    return (int)argument;
}

static int spawn_storm(void) {
    int64_t ids[16];
    for (uint64_t round = 0; round < 32 * amount(); round++)
        for (enum ring_spawn kind = RING_SPAWN_THREAD; kind <= RING_SPAWN_PROCESS; kind++) {
            for (unsigned i = 0; i < 16; i++)
                NEED((ids[i] = start(kind, nothing, i)) > 0);
            for (unsigned i = 0; i < 16; i++)
                NEED(finish(kind, ids[i]) == (int64_t)i);
        }
    return 0;
}

static int64_t free_pages(void) {
    return kernel_call(RING_CALL_READ, RING_READ_FREE_PAGES, 0, 0);
}

// The first round may keep pages (kernel stacks); later rounds may not.
static int no_leak(void) {
    NEED(spawn_storm() == 0);
    park_for(&board->word[0], 0, 5000); // the last ones clean up after their parent was woken
    // Allows for the slots (2 pages each) and kernel stacks of threads that are alive at the same time for
    // the first time.
    int64_t least = free_pages() - 16 * 4;
    NEED(spawn_storm() == 0);
    for (unsigned i = 0; i < 4000 && free_pages() < least; i++) // a busy host lets the last ones take long
        park_for(&board->word[0], 0, 5000);
    NEED(free_pages() >= least);
    return 0;
}

static int map_and_unmap(uint64_t argument) {
    for (uint64_t i = 0; i < 25 * amount(); i++) {
        int64_t where = RING_DO(RING_MAP, 2 * PAGE, 0);
        NEED(where > 0);
        NEED(((volatile uint64_t *)where)[600] == 0);
        ((volatile uint64_t *)where)[600] = argument + i;
        NEED(((volatile uint64_t *)where)[600] == argument + i);
        NEED(RING_DO(RING_UNMAP, (uint64_t)where, 2 * PAGE) == 0);
    }
    return 0;
}

static int map_storm(void) {
    int64_t ids[64];
    unsigned count = info()->online < 16 ? 2 * info()->online : 32;
    for (unsigned i = 0; i < count; i++)
        NEED((ids[i] = start(RING_SPAWN_THREAD, map_and_unmap, i)) > 0);
    for (unsigned i = 0; i < count; i++)
        NEED(finish(RING_SPAWN_THREAD, ids[i]) == 0);
    return 0;
}

// Reads the page often enough that this CPU has its translation, reports that, and spins until the page is
// unmapped. The read after that must kill the process.
static int touch_after_unmap(uint64_t page) {
    uint32_t *turn = &board->word[1];
    for (unsigned i = 0; i < 100; i++)
        (void)*(volatile uint64_t *)page;
    __atomic_store_n(turn, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) == 1)
        __asm__ volatile("pause");
    (void)*(volatile uint64_t *)page;
    return 1;
}

static int use_stale_translation(uint64_t argument) {
    (void)argument;
    int64_t page = RING_DO(RING_MAP, PAGE, 0);
    int64_t reader = start(RING_SPAWN_THREAD, touch_after_unmap, (uint64_t)page);
    while (__atomic_load_n(&board->word[1], __ATOMIC_ACQUIRE) != 1)
        kernel_call(RING_CALL_YIELD, 0, 0, 0);
    RING_DO(RING_UNMAP, (uint64_t)page, PAGE);
    __atomic_store_n(&board->word[1], 2, __ATOMIC_RELEASE);
    finish(RING_SPAWN_THREAD, reader); // not reached if all is well: the process is killed
    return 1;
}

static int shootdown(void) {
    for (unsigned i = 0; i < 4 * amount(); i++) {
        board->word[1] = 0;
        int64_t child = start(RING_SPAWN_PROCESS, use_stale_translation, 0);
        NEED(finish(RING_SPAWN_PROCESS, child) == RING_STATUS_KILLED + 14);
    }
    return 0;
}

static int work_by_weight(uint64_t which) {
    while (!__atomic_load_n(&board->word[2], __ATOMIC_ACQUIRE))
        for (volatile unsigned i = 0; i < 1000; i++)
            ;
    board->number[which] = (uint64_t)kernel_call(RING_CALL_READ, RING_READ_MY_CYCLES, 0, 0);
    return 0;
}

static int measure_shares(const uint64_t weight[3], uint64_t us) {
    int64_t ids[3];
    uint64_t begin = clock_us();
    board->word[2] = 0;
    for (unsigned i = 0; i < 3; i++)
        NEED((ids[i] = start_weighted(work_by_weight, i, weight[i])) > 0);
    park_for(&board->word[0], 0, us);
    __atomic_store_n(&board->word[2], 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < 3; i++)
        NEED(finish(RING_SPAWN_THREAD, ids[i]) == 0);
    uint64_t sum = 0, whole = (clock_us() - begin) * info()->cycles_per_us;
    for (unsigned i = 0; i < 3; i++)
        sum += board->number[i];
    NEED(sum <= whole && sum >= whole / 100 * 90);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t share = board->number[i] * 10000 / sum, due = weight[i] * 10000 / 6144;
        NEED(share * 100 >= due * 98 && share * 100 <= due * 102);
    }
    return 0;
}

// On one CPU: shares follow weights within 2% over a second, and 90% of the second is used. A host that
// preempts the vCPU lengthens one thread's turn. The queue makes up for that with the turns that follow, but not
// for the turns at the end. So a second that failed is repeated, each time for twice as long: the same pause is
// then half as much of it. Wrong weights fail at every length. fair_tries=1 is for a clock that no host disturbs.
static int fair_shares(void) {
    static const uint64_t weight[] = {1024, 2048, 3072};
    if (info()->online != 1 || option_is("sched", "global") || option_is("sched", "rr"))
        return 0; // only sched=wfq promises this, for one CPU's queue
    int failed = 1;
    uint64_t tries = option_number("fair_tries", 6);
    for (uint64_t i = 0; i < tries && failed; i++)
        failed = measure_shares(weight, 1000000ull << i);
    return failed;
}

static int spin(uint64_t argument) {
    while (__atomic_load_n(&board->word[1], __ATOMIC_ACQUIRE) == 0)
        bench_relax();
    return (int)argument;
}

// Every CPU is busy when the sleeper's time comes. A thread that ran little gets a CPU within `busy_late` ns,
// which only a test on the instruction clock can demand: a host may give the vCPUs no time.
static int wake_among_busy(void) {
    int64_t ids[64];
    uint64_t worst = 0, limit = bench_ticks(option_number("busy_late", 60000000000));
    for (unsigned i = 0; i < info()->online; i++)
        NEED((ids[i] = start(RING_SPAWN_THREAD, spin, 0)) > 0);
    for (unsigned i = 0; i < 12; i++) {
        uint64_t when = port_now() + bench_ticks(100000 + 350000 * i);
        port_sleep_until(when);
        uint64_t late = port_now() - when;
        worst = late > worst ? late : worst;
    }
    __atomic_store_n(&board->word[1], 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < info()->online; i++)
        NEED(finish(RING_SPAWN_THREAD, ids[i]) == 0);
    NEED(worst <= limit);
    return 0;
}

const struct check stress_checks[] = {
    {"stress-spawn", spawn_storm},   {"stress-leak", no_leak},     {"stress-map", map_storm},
    {"stress-shootdown", shootdown}, {"stress-fair", fair_shares}, {"stress-wake", wake_among_busy},
    {NULL, NULL},
};
