// CPU time inside the window that neither the coordinator nor a worker used.
//
// The kernel's run queues count the CPU time of all tasks (/proc/schedstat), including tasks that start and
// end in between. The time of coordinator and workers is subtracted; the rest is foreign. The count does not
// include the current time slice of a running task. If anything else runs when the count is read, the
// coordinator therefore visits every CPU first, which ends the time slice of the task that runs there. Both
// snapshots are taken outside the window. Without that file, or on a host with other users (`native`), the
// foreign time is unknown: the answer is -1.
//
// A workload that needs services (bench.needs) makes system calls in its window, and two things are then its
// own cost. First, all of the time of its threads and children: a process's own clock omits what a thread does
// after it has left the process, about 5 us each. Second, what the scheduler does when a task of it has gone to
// sleep: the run queues count that as the task's time, and the task does not. Looking for work at each of
// thousands of sleeps can take 2% of the window. So control groups count instead: the one of coordinator and
// workers, and the one of all tasks, by the same clock. Third, the time of ksoftirqd and of RCU, to which the
// kernel leaves what a call only begins: they free what an ended process leaves, about 2 us each. All other
// tasks are foreign in any case. A kernel without cpuacct falls back to the run queues and the process's clock.
// The setting nohz_full asks for the same: a thread that no tick interrupts may be missing in its process's clock.
//
// On a kernel that accounts interrupts or stolen time separately from tasks, that time counts as foreign too.
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "port.h"

#define SETTLE_NS 20000000 // for kernel work that prepare() caused, such as RCU callbacks

#define READINGS 5
#define GROUPS "/sys/fs/cgroup"
#define KTHREADD 2 // the parent of all threads of the kernel

struct books {
    int good;
    uint64_t all;    // CPU time of all tasks
    uint64_t ours;   // CPU time of coordinator and workers, including joined workers
    uint64_t kernel; // CPU time of the kernel's threads, if it is the workload's own cost
};

static struct books opened, closed;
static int makes_calls; // the workload needs services
static int has_group;   // coordinator and workers are in a control group

static uint64_t cpu_clock(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

// Moves the coordinator, and with it all that it will start, into a group of its own.
static int join_group(void) {
    mount("cgroup", GROUPS, "cgroup", 0, "cpuacct"); // without it the next calls fail
    mkdir(GROUPS "/bench", 0755);
    FILE *file = fopen(GROUPS "/bench/cgroup.procs", "we");
    if (file == NULL)
        return 0;
    int written = fputs("0", file) >= 0;
    return fclose(file) == 0 && written;
}

// The first number after a key in a small file; 0 if there is none.
static unsigned long long number_in(const char *path, const char *key) {
    char text[512];
    unsigned long long value = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    const char *at = strstr(text, key);
    return at != NULL && sscanf(at + strlen(key), "%llu", &value) == 1 ? value : 0;
}

// CPU time of the threads of this process and of the processes that it has waited for.
static uint64_t our_time(void) {
    if (has_group)
        return number_in(GROUPS "/bench/cpuacct.usage", "");
    struct rusage joined;
    getrusage(RUSAGE_CHILDREN, &joined);
    uint64_t us = (uint64_t)(joined.ru_utime.tv_sec + joined.ru_stime.tv_sec) * 1000000u +
                  (uint64_t)(joined.ru_utime.tv_usec + joined.ru_stime.tv_usec);
    return us * 1000u + cpu_clock();
}

// True for the threads of the kernel that finish what system calls began: they free memory. Every other one,
// such as a self-test of a cipher, has work of its own.
static int finishes_calls(const char *status) {
    char name[32] = "";
    FILE *file = fopen(status, "re");
    int found = file != NULL && fscanf(file, "Name: %31s", name) == 1;
    if (file != NULL)
        fclose(file);
    return found && (strncmp(name, "ksoftirqd/", 10) == 0 || strncmp(name, "rcu", 3) == 0) &&
           number_in(status, "PPid:") == KTHREADD;
}

// Sums the CPU time of those threads. What a thread did that has ended is missing, and so is foreign.
static uint64_t kernel_time(void) {
    uint64_t sum = 0;
    char path[300];
    DIR *tasks = opendir("/proc");
    const struct dirent *task;
    while (tasks != NULL && (task = readdir(tasks)) != NULL) {
        if (task->d_name[0] < '1' || task->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/status", task->d_name);
        if (!finishes_calls(path))
            continue;
        snprintf(path, sizeof path, "/proc/%s/schedstat", task->d_name);
        sum += number_in(path, "");
    }
    if (tasks != NULL)
        closedir(tasks);
    return sum;
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

static int all_time(uint64_t *sum) {
    if (!has_group)
        return read_queues(sum);
    *sum = number_in(GROUPS "/cpuacct.usage", "");
    return *sum > 0 ? 0 : -1;
}

// The two times are read one after the other. A tick of the clock in between adds the coordinator's current
// time slice to both, so they are read again then.
static void read_books(struct books *books) {
    if (others_run())
        visit_every_cpu();
    int again = READINGS;
    do {
        books->ours = our_time();
        books->good = all_time(&books->all) == 0;
    } while (has_group && --again > 0 && our_time() != books->ours);
    books->kernel = makes_calls ? kernel_time() : 0;
}

void port_window_open(void) {
    pin_read((unsigned)bench_param_u64("workers", 0));
    if (!port_is_guest)
        return;
    measure_open();
    makes_calls = bench_param("needs") != NULL;
    has_group = makes_calls && join_group();
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
    uint64_t all = closed.all - opened.all;
    uint64_t ours = closed.ours - opened.ours + closed.kernel - opened.kernel;
    *value = all > ours ? all - ours : 0;
    return 0;
}
