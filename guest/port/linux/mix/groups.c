// Control groups, version 2: one for each part, with its limits and its counters.
//
// A controller that this kernel lacks leaves its counters unknown, and each use says why. A limit that cannot
// be set ends the run, because the figures would be those of another question.
#include "mix.h"

#include "port/linux/written.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup"
#define ALL ROOT "/mix" // the parent of the parts' groups
#define PATH_BYTES 128
#define FILE_BYTES 4096

static struct lack no_memory, no_io;

static void path_of(const struct part *one, const char *file, char *path) {
    snprintf(path, PATH_BYTES, ALL "/part%u/%s", one->id, file);
}

static struct lack controller(const char *word) {
    if (written(ROOT "/cgroup.subtree_control", word) && written(ALL "/cgroup.subtree_control", word))
        return (struct lack){NULL, 0};
    return (struct lack){"controller", errno};
}

void groups_make(void) {
    if (mount("cgroup2", ROOT, "cgroup2", 0, NULL) != 0)
        port_fail("cgroup2 cannot be mounted");
    if (mkdir(ALL, 0755) != 0)
        port_fail("no control group can be made");
    if (controller("+cpu").why != NULL || controller("+cpuset").why != NULL)
        port_fail("the controllers cpu and cpuset cannot be used");
    no_memory = controller("+memory");
    // Quotas are given to the CPUs in portions of 5 ms otherwise, which is more than a small quota.
    written("/proc/sys/kernel/sched_cfs_bandwidth_slice_us", "1000");
    no_io = controller("+io");
}

static void limit(const struct part *one, const char *file, const char *text) {
    char path[PATH_BYTES];
    path_of(one, file, path);
    if (!written(path, text))
        mix_fail(file, one->id);
}

static void limit_cpu(const struct part *one) {
    char text[128];
    if (one->cpu_us == NONE)
        return;
    snprintf(text, sizeof text, "%" PRId64 " %" PRId64, one->cpu_us, one->period_us);
    limit(one, "cpu.max", text);
}

static void limit_memory(const struct part *one) {
    char text[128];
    if (one->memory == NONE)
        return;
    snprintf(text, sizeof text, "%" PRId64, one->memory);
    limit(one, "memory.max", text);
}

static void limit_disk(const struct part *one) {
    char text[128];
    if (one->disk == NONE || disk_device() == NULL)
        return;
    snprintf(text, sizeof text, "%s rbps=%" PRId64 " wbps=%" PRId64, disk_device(), one->disk, one->disk);
    limit(one, "io.max", text);
}

void group_make(struct part *one) {
    char path[PATH_BYTES];
    path_of(one, "", path);
    if (mkdir(path, 0755) != 0)
        mix_fail("its control group cannot be made", one->id);
    if (one->cpus != NULL)
        limit(one, "cpuset.cpus", one->cpus);
    limit_cpu(one);
    limit_memory(one);
    limit_disk(one);
    one->lack[USE_MEMORY] = no_memory;
    for (int use = USE_READ; use <= USE_WRITTEN; use++)
        if (one->lack[use].why == NULL)
            one->lack[use] = no_io;
}

void group_enter(const struct part *one) {
    char path[PATH_BYTES];
    path_of(one, "cgroup.procs", path);
    if (!written(path, "0"))
        mix_fail("its control group cannot be entered", one->id);
}

void groups_freeze(void) {
    if (!written(ALL "/cgroup.freeze", "1"))
        port_fail("the parts cannot be stopped");
}

void groups_end(void) {
    if (!written(ALL "/cgroup.kill", "1"))
        port_fail("the parts cannot be ended");
}

// With an empty key: the first number in the file.
int64_t number_in(const char *path, const char *key) {
    char text[FILE_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return NONE;
    text[n] = 0;
    const char *at = strstr(text, key);
    return at == NULL ? NONE : plan_number(at + strlen(key));
}

int64_t group_number(const struct part *one, const char *file, const char *key) {
    char path[PATH_BYTES];
    path_of(one, file, path);
    return number_in(path, key);
}

static int64_t thousandfold(int64_t value) {
    return value == NONE ? NONE : value * 1000;
}

// A device that the group has not used has no line.
static int64_t transferred(const struct part *one, const char *key) {
    char path[PATH_BYTES];
    path_of(one, "io.stat", path);
    if (access(path, R_OK) != 0)
        return NONE;
    int64_t bytes = disk_device() == NULL ? NONE : number_in(path, key);
    return bytes == NONE ? 0 : bytes;
}

// ` v0: RECEIVED and seven more, SENT ...` in the namespace of the part's runner.
static int64_t network_bytes(const struct part *one) {
    char path[PATH_BYTES];
    char text[FILE_BYTES];
    if (!one->needs_network)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/net/dev", (int)one->runner);
    FILE *file = fopen(path, "re");
    int64_t received, sent, sum = NONE;
    while (file != NULL && fgets(text, sizeof text, file) != NULL)
        if (sscanf(text, " v0: %" SCNd64 " %*s %*s %*s %*s %*s %*s %*s %" SCNd64, &received, &sent) == 2)
            sum = received + sent;
    if (file != NULL)
        fclose(file);
    return sum;
}

void uses_read(const struct part *one, int64_t to[USES]) {
    to[USE_CPU] = thousandfold(group_number(one, "cpu.stat", "usage_usec "));
    to[USE_READ] = transferred(one, "rbytes=");
    to[USE_WRITTEN] = transferred(one, "wbytes=");
    to[USE_NETWORK] = network_bytes(one);
    to[USE_MEMORY] = group_number(one, "memory.peak", "");
}
