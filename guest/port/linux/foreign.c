// CPU time inside the window that neither the coordinator nor a worker used.
//
// The kernel's run queues count the CPU time of all tasks (/proc/schedstat), including tasks that start and
// end in between. The time of coordinator and workers is subtracted; the rest is foreign. The count does not
// include the current time slice of a running task. If anything else runs when the count is read, the
// coordinator therefore visits every CPU first, which ends the time slice of the task that runs there. Both
// snapshots are taken outside the window. Without that file, or on a host with other users (`native`), the
// foreign time is unknown: the answer is -1.
//
// On a kernel that accounts interrupts or stolen time separately from tasks, that time counts as foreign too.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "port.h"

#define SETTLE_NS 20000000 // for kernel work that prepare() caused, such as RCU callbacks

struct books {
    int good;
    uint64_t queues; // CPU time that all run queues counted
    uint64_t ours;   // CPU time of coordinator and workers, including joined workers
};

static struct books opened, closed;

static uint64_t cpu_clock(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

// CPU time of the threads of this process and of the processes that it has waited for.
static uint64_t our_time(void) {
    struct rusage joined;
    getrusage(RUSAGE_CHILDREN, &joined);
    uint64_t us = (uint64_t)(joined.ru_utime.tv_sec + joined.ru_stime.tv_sec) * 1000000u +
                  (uint64_t)(joined.ru_utime.tv_usec + joined.ru_stime.tv_usec);
    return us * 1000u + cpu_clock();
}

// Sums the seventh number of each `cpuN` line: nanoseconds for which tasks ran on that CPU.
static int read_queues(uint64_t *sum) {
    FILE *file = fopen("/proc/schedstat", "re");
    if (file == NULL)
        return -1;
    char line[512];
    int version = 0, found = 0;
    *sum = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long long ran;
        if (sscanf(line, "version %d", &version) == 1)
            continue;
        if (sscanf(line, "cpu%*u %*u %*u %*u %*u %*u %*u %llu", &ran) == 1) {
            *sum += ran;
            found = 1;
        }
    }
    fclose(file);
    return found && version >= 15 ? 0 : -1;
}

static void visit_every_cpu(void) {
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (CPU_ISSET(cpu, &all))
            sched_setaffinity(0, sizeof one, &one);
    }
    sched_setaffinity(0, sizeof all, &all);
}

// True if another task is running or runnable, that is, if the 3 in `0.00 0.01 0.05 3/80 123` is above 1.
static int others_run(void) {
    int count = 0;
    FILE *file = fopen("/proc/loadavg", "re");
    if (file == NULL)
        return 1;
    int found = fscanf(file, "%*s %*s %*s %d/", &count);
    fclose(file);
    return found != 1 || count > 1;
}

static void read_books(struct books *books) {
    if (others_run())
        visit_every_cpu();
    books->ours = our_time();
    books->good = read_queues(&books->queues) == 0;
}

void port_window_open(void) {
    pin_read((unsigned)bench_param_u64("workers", 0));
    if (!port_is_guest)
        return;
    measure_open();
    const struct timespec settle = {0, SETTLE_NS};
    nanosleep(&settle, NULL);
    read_books(&opened);
}

void port_window_close(void) {
    if (port_is_guest) {
        read_books(&closed);
        measure_close();
    }
}

int port_foreign(uint64_t *value) {
    if (!opened.good || !closed.good)
        return -1;
    uint64_t all = closed.queues - opened.queues, ours = closed.ours - opened.ours;
    *value = all > ours ? all - ours : 0;
    return 0;
}
