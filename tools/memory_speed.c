// How long the memory model takes on the host for one access, by where it is served. By hand:
//   C=src/benchgate/insn/c; gcc -std=c11 -O2 -I $C tools/memory_speed.c $C/memory_*.c -o build/memory_speed
//   python -c "
//   from pathlib import Path
//   from benchgate.base.machines import memory_ranges
//   from benchgate.insn.machine_shape import shape
//   from benchgate.plan.machinefile import load
//   m = load(Path('fixtures/machines/desktop8.yaml'))
//   print(shape(m, m.cpus, memory_ranges(m, 0, 1 << 30)), end='')" >build/desktop8.shape
//   build/memory_speed build/desktop8.shape
#define _GNU_SOURCE
#include "memory.h"

#include <stdlib.h>
#include <time.h>

#define ACCESSES 8000000u
#define STEP 9973u // a prime: the lines of a set of lines in an order without a stride

static struct memory_shape shape;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// `repeat` accesses to each of `lines` lines, again and again, by `cpus` CPUs in turn.
static void measure(const char *what, uint64_t lines, unsigned repeat, unsigned cpus, enum memory_kind kind) {
    struct memory *m = memory_new(&shape);
    if (!m)
        exit(2);
    uint64_t now = 0, at = 0, total = ACCESSES, slow = 0;
    double began = 0;
    for (uint64_t i = 0; i < total + lines * repeat; i += repeat) {
        if (i >= lines * repeat && began == 0)
            began = seconds();
        at = at + STEP < lines ? at + STEP : (at + STEP) % lines;
        unsigned cpu = (unsigned)(i / repeat % cpus);
        struct memory_spot spot = memory_spot_of(&m->front[cpu], kind, at);
        for (unsigned r = 0; r < repeat; r++, now++)
            if (!memory_spot_hit(&m->front[cpu], &spot, kind, now) &&
                !memory_spot_hit_again(&m->front[cpu], &spot, kind, now)) {
                now += memory_access(m, cpu, kind, at, now);
                slow++;
            }
    }
    double took = seconds() - began;
    printf("%-44s %6.2f ns an access, %5.1f%% not by a short path\n", what, took / (double)total * 1e9,
           100.0 * (double)slow / (double)(total + lines * repeat));
    memory_free(m);
}

int main(int argc, char **argv) {
    char problem[300] = "the shape file cannot be opened";
    FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!in || !memory_shape_read(in, &shape, problem, sizeof problem)) {
        fprintf(stderr, "usage: %s SHAPE: %s\n", argv[0], problem);
        return 2;
    }
    fclose(in);
    uint64_t l1 = (uint64_t)shape.l1d.sets * shape.l1d.ways, l2 = (uint64_t)shape.l2.sets * shape.l2.ways;
    uint64_t l3 = (uint64_t)shape.l3.sets * shape.l3.ways;
    measure("read, most recent line of its set", 16, 64, 1, MEMORY_READ);
    measure("write, most recent line of its set", 16, 64, 1, MEMORY_WRITE);
    measure("read, any line of L1", l1, 1, 1, MEMORY_READ);
    measure("read, L2", l2, 1, 1, MEMORY_READ);
    measure("write, L2", l2, 1, 1, MEMORY_WRITE);
    if (l3)
        measure("read, L3", l3, 1, 1, MEMORY_READ);
    measure("read, memory", 4 * (l3 ? l3 : l2) + 1, 1, 1, MEMORY_READ);
    measure("write, memory", 4 * (l3 ? l3 : l2) + 1, 1, 1, MEMORY_WRITE);
    if (shape.cpus > 1)
        measure("write, two CPUs in turn", 15, 1, 2, MEMORY_WRITE);
    if (shape.cpus > 1)
        measure("read, all CPUs in turn, each line of L1", l1, 1, shape.cpus, MEMORY_READ);
    return 0;
}
