// The service `control` of services.h on Linux: the CPUs, nice value and policy of another process, and
// control groups of version 2 with the controllers cpu and cpuset.
//
// Takes processes by their numbers, and control groups by numbers from 1. A call that fails gives the
// negative error. Only in a guest: a host is left as it is, so `native` does not list the service.
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../../services.h"
#include "written.h"

#define ROOT "/control" // what foreign.c mounts is at the usual place
#define PATH_BYTES 64
#define TEXT_BYTES 256
#define MASK_BITS 64

int port_allow_other(uint64_t process, uint64_t cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned cpu = 0; cpu < MASK_BITS; cpu++)
        if (cpus >> cpu & 1)
            CPU_SET(cpu, &set);
    return sched_setaffinity((pid_t)process, sizeof set, &set) == 0 ? 0 : -errno;
}

int port_nice(uint64_t process, int nice) {
    return setpriority(PRIO_PROCESS, (id_t)process, nice) == 0 ? 0 : -errno;
}

int port_policy(uint64_t process, enum port_policy policy, unsigned priority) {
    static const int policies[] = {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR};
    const struct sched_param param = {.sched_priority = (int)priority};
    if ((unsigned)policy >= sizeof policies / sizeof *policies)
        return -EINVAL;
    return sched_setscheduler((pid_t)process, policies[policy], &param) == 0 ? 0 : -errno;
}

// ---- control groups

// favordynmods: otherwise a process that is moved waits for a grace period of RCU, which takes milliseconds.
// Linux has it since 6.0.
static int mount_groups(void) {
    if (mkdir(ROOT, 0755) == 0 && (mount("cgroup2", ROOT, "cgroup2", 0, "favordynmods") == 0 ||
                                   mount("cgroup2", ROOT, "cgroup2", 0, NULL) == 0))
        return 0;
    return -errno;
}

// Quotas are given to the CPUs in portions of 5 ms otherwise, which is more than a small quota.
static int begin(void) {
    static int begun;
    int error = begun ? 0 : mount_groups();
    if (error != 0 || begun)
        return error;
    begun = 1;
    written("/proc/sys/kernel/sched_cfs_bandwidth_slice_us", "1000");
    return written(ROOT "/cgroup.subtree_control", "+cpu +cpuset") ? 0 : -errno;
}

static int write_group(unsigned group, const char *file, const char *text) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, ROOT "/g%u/%s", group, file);
    return written(path, text) ? 0 : -errno;
}

static int make_group(unsigned group) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, ROOT "/g%u", group);
    return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

static int set_weight(unsigned group, uint64_t weight) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%" PRIu64, weight);
    return write_group(group, "cpu.weight", text);
}

static int set_quota(unsigned group, const struct port_limits *to) {
    char text[TEXT_BYTES] = "max";
    if (to->quota_us != 0)
        snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64, to->quota_us, to->period_us);
    return write_group(group, "cpu.max", text);
}

static int set_cpus(unsigned group, uint64_t cpus) {
    char text[TEXT_BYTES];
    int used = 0;
    for (unsigned cpu = 0; cpu < MASK_BITS; cpu++)
        if (cpus >> cpu & 1)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%u", used == 0 ? "" : ",", cpu);
    return write_group(group, "cpuset.cpus", text);
}

int port_limits(unsigned group, const struct port_limits *to) {
    int error = begin();
    if (error == 0)
        error = make_group(group);
    if (error == 0 && to->weight != 0)
        error = set_weight(group, to->weight);
    if (error == 0 && to->has_quota)
        error = set_quota(group, to);
    if (error == 0 && to->cpus != 0)
        error = set_cpus(group, to->cpus);
    return error;
}

int port_enter(uint64_t process, unsigned group) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%" PRIu64, process);
    if (group == 0)
        return written(ROOT "/cgroup.procs", text) ? 0 : -errno;
    return write_group(group, "cgroup.procs", text);
}
