// Attribution in a Linux guest (bench.measure=1): what the kernel's own files counted over the window.
//
// Takes /proc/schedstat, /proc/interrupts and /proc/vmstat before the window opens and after it has closed,
// so nothing is read inside it. Gives one measure line per bucket and CPU, in the phase final_total. Phases
// within the window and buckets that Linux does not count are omitted; the host shows them as `na`. If a file
// does not exist or has an unknown version, its buckets are omitted too.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "port.h"

#define LINE_BYTES 8192
#define CPUS BENCH_MAX_WORKERS

// One of each per CPU. bucket_name has the same order.
enum bucket { BUSY, RUNNABLE, SWITCHES, PICKS, TRIED, GAINED, TICKS, RESCHED, ACKS, BUCKETS };
static const char *const bucket_name[BUCKETS] = {"busy_ns", "runnable_ns",   "switches",
                                                 "picks",   "steals_tried",  "steals_done",
                                                 "ticks",   "resched_taken", "shootdown_acks"};

static struct snapshot {
    uint64_t count[BUCKETS][CPUS];
    unsigned cpus[BUCKETS]; // how many CPUs were counted; 0: no such bucket
    uint64_t page_faults;
    int has_page_faults;
} opened, closed;

static int is_on;

static void put(struct snapshot *to, enum bucket bucket, unsigned cpu, uint64_t value) {
    if (cpu >= CPUS)
        return;
    to->count[bucket][cpu] += value;
    if (to->cpus[bucket] <= cpu)
        to->cpus[bucket] = cpu + 1;
}

// The kernel counts some of these only while this is set; without it they would all be 0.
static int count_all(void) {
    int fd = open("/proc/sys/kernel/sched_schedstats", O_WRONLY | O_CLOEXEC);
    int good = fd >= 0 && write(fd, "1", 1) == 1;
    if (fd >= 0)
        close(fd);
    return good;
}

static unsigned numbers(const char *text, uint64_t *to, unsigned most) {
    unsigned found = 0;
    char *end;
    while (found < most) {
        to[found] = strtoull(text, &end, 10);
        if (end == text)
            break;
        text = end;
        found++;
    }
    return found;
}

// A `cpuN` line: yields, 0, calls of schedule(), times gone idle, wake-ups, local wake-ups, ns run, ns
// waited, time slices.
static void take_cpu(struct snapshot *to, unsigned cpu, const char *text, int counts_all) {
    uint64_t v[9];
    if (numbers(text, v, 9) != 9)
        return;
    put(to, BUSY, cpu, v[6]);
    put(to, RUNNABLE, cpu, v[7]);
    if (counts_all) {
        put(to, PICKS, cpu, v[2]);
        put(to, SWITCHES, cpu, v[3] + v[8]);
    }
}

// A `domainN` line, which follows its CPU's line: a mask, then eight numbers for each of three kinds of
// balancing. The first is how often balancing was tried, the fifth is how many tasks it moved.
static void take_domain(struct snapshot *to, unsigned cpu, const char *text) {
    uint64_t v[24];
    const char *after = strchr(text, ' ');
    if (after == NULL || numbers(after, v, 24) != 24)
        return;
    for (unsigned kind = 0; kind < 3; kind++) {
        put(to, TRIED, cpu, v[8 * kind]);
        put(to, GAINED, cpu, v[8 * kind + 4]);
    }
}

static void read_schedstat(struct snapshot *to, int counts_all) {
    FILE *file = fopen("/proc/schedstat", "re");
    char line[LINE_BYTES];
    int version = 0, at;
    unsigned cpu = 0, domain;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "version %d", &version) == 1)
            continue;
        if (version < 15)
            break;
        if (sscanf(line, "cpu%u %n", &cpu, &at) == 1)
            take_cpu(to, cpu, line + at, counts_all);
        else if (counts_all && version <= 16 && sscanf(line, "domain%u %n", &domain, &at) == 1)
            take_domain(to, cpu, line + at);
    }
    if (file != NULL)
        fclose(file);
}

// ` LOC:   12   34   Local timer interrupts`: one number per CPU.
static void read_interrupts(struct snapshot *to) {
    static const struct {
        const char *name;
        enum bucket bucket;
    } kinds[] = {{"LOC:", TICKS}, {"RES:", RESCHED}, {"TLB:", ACKS}};
    FILE *file = fopen("/proc/interrupts", "re");
    char line[LINE_BYTES];
    uint64_t v[CPUS];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *text = line + strspn(line, " ");
        for (unsigned kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
            if (strncmp(text, kinds[kind].name, 4) != 0)
                continue;
            unsigned cpus = numbers(text + 4, v, CPUS);
            for (unsigned cpu = 0; cpu < cpus; cpu++)
                put(to, kinds[kind].bucket, cpu, v[cpu]);
        }
    }
    if (file != NULL)
        fclose(file);
}

static void read_faults(struct snapshot *to) {
    FILE *file = fopen("/proc/vmstat", "re");
    char line[LINE_BYTES];
    unsigned long long value;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "pgfault %llu", &value) == 1) {
            to->page_faults = value;
            to->has_page_faults = 1;
        }
    if (file != NULL)
        fclose(file);
}

static void take(struct snapshot *to) {
    static int counts_all;
    if (to == &opened)
        counts_all = count_all();
    read_schedstat(to, counts_all);
    read_interrupts(to);
    read_faults(to);
}

void measure_open(void) {
    is_on = port_is_guest && bench_param_is("measure", "1");
    if (is_on)
        take(&opened);
}

void measure_close(void) {
    if (is_on)
        take(&closed);
}

static void put_line(long cpu, const char *name, uint64_t value) {
    bench_line_begin("measure");
    bench_line_word("phase", "final_total");
    if (cpu < 0)
        bench_line_word("cpu", "na");
    else
        bench_line_u64("cpu", (uint64_t)cpu);
    bench_line_word("name", name);
    bench_line_u64("value", value);
    bench_line_end();
}

void port_report(void) {
    uint64_t foreign;
    if (!is_on)
        return;
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        for (unsigned cpu = 0; cpu < opened.cpus[bucket] && cpu < closed.cpus[bucket]; cpu++)
            put_line((long)cpu, bucket_name[bucket], closed.count[bucket][cpu] - opened.count[bucket][cpu]);
    if (opened.has_page_faults && closed.has_page_faults)
        put_line(-1, "page_faults", closed.page_faults - opened.page_faults);
    if (port_foreign(&foreign) == 0)
        put_line(-1, "foreign_ns", foreign);
}
