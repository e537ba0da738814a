#define _GNU_SOURCE
#include "pool.h"

#include "clock.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool expected;
static pthread_mutex_t *mutex;              // QEMU's own, which guards the list of jobs
static _Atomic(pthread_cond_t *) condition; // signalled once for each job
static _Atomic uint32_t rests;              // how often the thread had no job left; changed under the mutex

void pool_expect(void) {
    expected = true;
}

void pool_rests(pthread_cond_t *waits_for, pthread_mutex_t *held) {
    mutex = held;
    atomic_store(&condition, waits_for);
    atomic_fetch_add(&rests, 1);
    syscall(SYS_futex, &rests, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

bool pool_takes(const pthread_cond_t *signalled) {
    return signalled == atomic_load(&condition);
}

static void wait_beyond(uint32_t seen) {
    static const struct timespec second = {1, 0};
    while (atomic_load(&rests) == seen)
        if (syscall(SYS_futex, &rests, FUTEX_WAIT_PRIVATE, seen, &second, NULL, 0) != 0)
            clock_watch();
}

void pool_await(void) {
    if (expected)
        wait_beyond(0);
}

// The job is in the list. Under the mutex the thread either works, and will look at the list before it
// rests, or it waits for the condition, and the signal wakes it. So it rests once more in any case, with an
// empty list.
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
