#define _GNU_SOURCE
#include "pool.h"

#include "clock.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool expected;
static pthread_mutex_t *mutex;              // QEMU's own, which guards the list of jobs
static _Atomic(pthread_cond_t *) condition; // signalled once for each job
static _Atomic uint32_t rests;              // how often a thread had no job left; changed under the mutex
static _Atomic uint32_t working;            // how many of those that have rested do not; likewise
static _Thread_local bool works;

#define SHORTEST_REST                                                                                        \
    5 // seconds of the host; it is 10 in QEMU, and other timed waits last a tenth of a second
#define LONGEST_REST 10

bool pool_is_rest(const struct timespec *until) {
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
    for (unsigned i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        struct timespec now;
        syscall(SYS_clock_gettime, clocks[i], &now);
        time_t span = until->tv_sec - now.tv_sec;
        if (span >= SHORTEST_REST && span <= LONGEST_REST)
            return true;
    }
    return false;
}

void pool_expect(void) {
    expected = true;
}

int pool_rest(pthread_cond_t *waits_for, pthread_mutex_t *held,
              int (*wait)(pthread_cond_t *, pthread_mutex_t *)) {
    mutex = held;
    atomic_store(&condition, waits_for);
    if (works)
        atomic_fetch_sub(&working, 1);
    atomic_fetch_add(&rests, 1);
    syscall(SYS_futex, &rests, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    int result = wait(waits_for, held);
    atomic_fetch_add(&working, 1);
    works = true;
    return result;
}

bool pool_takes(const pthread_cond_t *signalled) {
    return signalled == atomic_load(&condition);
}

static void wait_beyond(uint32_t seen) {
    clock_host_waits("a job of its block layer, which another thread does");
    for (uint32_t now; (now = atomic_load(&rests)) == seen || atomic_load(&working);)
        syscall(SYS_futex, &rests, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
    clock_host_waits(NULL);
}

void pool_await(void) {
    if (expected)
        wait_beyond(0);
}

// The job is in the list. Under the mutex each thread either works, and will look at the list before it
// rests, or it waits for the condition, and the signal wakes one. So one rests once more in any case; when
// all do, the list is empty. A thread that has rested never ends.
int pool_submit(int (*signal)(pthread_cond_t *)) {
    if (clock_self >= 0)
        clock_notify(); // the main loop has work, whenever the host finishes it
    pthread_mutex_lock(mutex);
    uint32_t seen = atomic_load(&rests);
    int result = signal(atomic_load(&condition));
    pthread_mutex_unlock(mutex);
    wait_beyond(seen);
    return result;
}
