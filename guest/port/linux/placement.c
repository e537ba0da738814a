// The service `placement` of services.h on Linux: affinity masks, autogroups and hotplug of CPUs.
//
// Takes CPUs by number. A call that fails gives the negative error. On a host (`native`) nothing is changed:
// its CPUs belong to others, too, and 0 is the answer.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "../../services.h"
#include "port.h"
#include "written.h"

#define MASK_BITS 64

int port_allow(uint64_t cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned cpu = 0; cpu < MASK_BITS; cpu++)
        if (cpus >> cpu & 1)
            CPU_SET(cpu, &set);
    return !port_is_guest || sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : -errno;
}

// With CONFIG_SCHED_AUTOGROUP each session is a scheduling group. The first one is the kernel's own, in which
// every thread counts for itself; so a workload that compares groups makes all of them.
int port_group(void) {
    if (!port_is_guest)
        return 0;
    if (!written("/proc/sys/kernel/sched_autogroup_enabled", "1"))
        return -errno;
    return setsid() < 0 ? -errno : 0;
}

int port_cpu_online(unsigned cpu, int online) {
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/online", cpu);
    return !port_is_guest || written(path, online ? "1" : "0") ? 0 : -errno;
}
