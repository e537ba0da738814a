#define _GNU_SOURCE
#include "placement.h"

#include "lockstep.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 250000000  // the share is measured over this time
#define FLOAT_NS 10000000  // how long the threads may run anywhere
#define LEAST_SHARE 80     // percent
#define CALLS_PER_LOOK 16u // only every 16th call reads the host's clock

static cpu_set_t allowed;
static pid_t threads[LOCKSTEP_MAX + 1];
static _Atomic unsigned joined;
static unsigned cpus = 1;
static bool fixed;
static uint64_t since, used; // the host's time and this process's CPU time at the last look

static uint64_t host_ns(clockid_t id) {
    struct timespec now;
    syscall(SYS_clock_gettime, id, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// The call fails for a thread that has ended, which does no harm.
static void place(const cpu_set_t *where) {
    for (unsigned i = 0; i < joined; i++)
        sched_setaffinity(threads[i], sizeof *where, where);
}

static void fix_here(void) {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((unsigned)sched_getcpu(), &here);
    place(&here);
    fixed = true;
}

void placement_join(void) {
    threads[atomic_fetch_add(&joined, 1)] = (pid_t)syscall(SYS_gettid);
}

// On a host with more CPUs than a cpu_set_t holds, sched_getaffinity fails and the threads are never placed.
void placement_setup(void) {
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        cpus = (unsigned)CPU_COUNT(&allowed);
    placement_join();
}

void placement_look(void) {
    static unsigned calls;
    if (cpus == 1 || calls++ % CALLS_PER_LOOK)
        return;
    uint64_t now = host_ns(CLOCK_MONOTONIC), span = now - since;
    if (since && span < (fixed ? LOOK_NS : FLOAT_NS))
        return;
    uint64_t own = host_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (!fixed)
        fix_here();
    else if (100 * (own - used) < LEAST_SHARE * span) {
        place(&allowed);
        fixed = false;
    }
    since = now;
    used = own;
}
