#define _GNU_SOURCE
#include "measure.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static void refuse(const char *text) {
    fprintf(stderr, "measure: wrong argument `%s`\n", text);
    exit(2);
}

void pin(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        fail("cannot run on this CPU");
}

unsigned number(const char *text, unsigned most) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || value > most)
        refuse(text);
    return (unsigned)value;
}

size_t bytes_of(const char *text) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || value < PAGE_BYTES || value > SIZE_MAX / 4)
        refuse(text);
    return (size_t)value;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

double median(double *values, unsigned count) {
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void sample(const char *name, double value) {
    printf("%s %.4f\n", name, value);
    fflush(stdout);
}

// xorshift64* (Marsaglia 2003, Vigna 2016). The same sequence in every run: what differs is where pages are.
uint64_t random_below(uint64_t bound) {
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545f4914f6cdd1du) % bound;
}

// The memory begins at a multiple of a huge page; the unused rest before and behind it is given back.
void *map(size_t bytes, enum pages pages) {
    size_t whole = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES, most = whole + HUGE_BYTES;
    char *all = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        fail("no memory for the measurement");
    size_t before = (HUGE_BYTES - (uintptr_t)all % HUGE_BYTES) % HUGE_BYTES;
    char *at = all + before;
    if (before)
        munmap(all, before);
    if (most > before + whole)
        munmap(at + whole, most - before - whole);
    madvise(at, whole, pages == HUGE_PAGES ? MADV_HUGEPAGE : MADV_NOHUGEPAGE); // may be refused: huge_share
    for (size_t page = 0; page < whole; page += PAGE_BYTES)
        at[page] = 1;
    return at;
}

void unmap(void *at, size_t bytes) {
    munmap(at, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
}

double huge_share(const void *at, size_t bytes) {
    FILE *maps = fopen("/proc/self/smaps", "re");
    if (maps == NULL)
        return 0;
    char line[512];
    unsigned long begin, end, kib, inside = 0, huge = 0;
    while (fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            inside = begin < (uintptr_t)at + bytes && end > (uintptr_t)at;
        else if (inside && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
            huge += kib;
    fclose(maps);
    double share = (double)huge * 1024 / (double)bytes;
    return share > 1 ? 1 : share;
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        int (*measure)(unsigned, char **);
    } known[] = {
        {"chase", chase},   {"pair", pair},     {"share", share},
        {"stream", stream}, {"single", single}, {"interrupt", interrupt},
    };
    for (size_t n = 0; count > 1 && n < sizeof known / sizeof *known; n++)
        if (strcmp(words[1], known[n].name) == 0)
            return known[n].measure((unsigned)count - 2, words + 2);
    fprintf(stderr, "measure: say what, and with which numbers: see measure.h\n");
    return 2;
}
