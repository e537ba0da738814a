#include "measure/measure.h"

#include "arch/serial.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/alloc.h"
#include "core/percpu.h"
#include "core/program.h"
#include "core/string.h"
#include "core/thread.h"
#include "measure/books.h"
#include "ring/abi.h"
#include "sched/common.h"

bool measure_on;

// Border b is the start of phase b; the last border is the end of the window. Each is recorded once, by the
// CPU that advanced `phase`, which reads the other CPUs' counters while they run.
static struct border {
    struct counters count;
    uint64_t time; // when this CPU's were read
} border[RING_PHASES + 1][MAX_CPUS];
static _Atomic unsigned phase = RING_PHASES; // the window is closed

bool measure_window_open(void) {
    return atomic_load_explicit(&phase, memory_order_relaxed) != RING_PHASES;
}

static void copy_counters(struct counters *to, const struct counters *from) {
    const uint64_t *source = (const uint64_t *)from;
    for (unsigned i = 0; i < COUNTERS; i++)
        ((uint64_t *)to)[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

// The counters of a CPU lack the time since its last charge, which may be long; it is added here. All values
// belong to one moment (see charge in core/thread.c): the times at a later border are never below those at an
// earlier one.
static void take_border(struct border *to, const struct cpu *cpu) {
    uint32_t version;
    uint64_t until;
    bool idle;
    do {
        // acquire: pairs with the release at the end of charge
        version = atomic_load_explicit(&cpu->books.version, memory_order_acquire);
        copy_counters(&to->count, &cpu->count);
        until = __atomic_load_n(&cpu->books.until, __ATOMIC_RELAXED);
        idle = __atomic_load_n(&cpu->books.idle, __ATOMIC_RELAXED);
        fence_loads();
        to->time = now();
        fence_loads();
    } while (version % 2 != 0 || version != atomic_load_explicit(&cpu->books.version, memory_order_relaxed));
    *(idle ? &to->count.idle_cycles : &to->count.busy_cycles) += to->time - until;
    to->count.steals_tried = sched_search[cpu->index].tried;
    to->count.steals_done = sched_search[cpu->index].done;
}

static void move_on(unsigned from, unsigned to) {
    if (!atomic_compare_exchange_strong(&phase, &from, to))
        return;
    for (unsigned i = 0; measure_on && i < cpu_count; i++)
        take_border(&border[to][i], &cpus[i]);
}

int64_t measure_window(uint64_t what) {
    switch (what) {
    case RING_WINDOW_OPEN:
        serial_hold(1);
        books_clear();
        move_on(RING_PHASES, RING_PHASE_SPAWN_READY);
        return 0;
    case RING_WINDOW_WORK:
        move_on(RING_PHASE_SPAWN_READY, RING_PHASE_WORK);
        return 0;
    case RING_WINDOW_WORKED:
        move_on(RING_PHASE_WORK, RING_PHASE_SHUTDOWN);
        return 0;
    case RING_WINDOW_CLOSE:
        move_on(RING_PHASE_SPAWN_READY, RING_PHASE_WORK); // a phase that was not marked is empty
        move_on(RING_PHASE_WORK, RING_PHASE_SHUTDOWN);
        move_on(RING_PHASE_SHUTDOWN, RING_PHASES);
        serial_hold(0);
        serial_flush();
        return 0;
    default:
        return -RING_EINVAL;
    }
}

// index: phase * MAX_CPUS + CPU; the phase after the last is the whole window. False: there is no such index.
static bool borders_of(uint64_t index, const struct border **from, const struct border **to) {
    uint64_t p = index / MAX_CPUS, cpu = index % MAX_CPUS;
    if (p > RING_PHASES || cpu >= cpu_count)
        return false;
    *from = &border[p == RING_PHASES ? 0 : p][cpu];
    *to = &border[p == RING_PHASES ? RING_PHASES : p + 1][cpu];
    return true;
}

static int64_t read_counter(uint64_t index, uint64_t which) {
    const struct border *from, *to;
    if (which >= COUNTERS || !borders_of(index, &from, &to))
        return -RING_EINVAL;
    uint64_t before = ((const uint64_t *)&from->count)[which], after = ((const uint64_t *)&to->count)[which];
    bool highest = which == __builtin_offsetof(struct counters, queue_depth_max) / 8;
    return (int64_t)(highest ? after : after - before);
}

static int64_t read_elapsed(uint64_t index) {
    const struct border *from, *to;
    return borders_of(index, &from, &to) ? (int64_t)(to->time - from->time) : -RING_EINVAL;
}

static uint64_t foreign_cycles(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < cpu_count; i++)
        sum += cpus[i].count.foreign_cycles;
    return sum;
}

// Both sides of a queue's balance: 0 enqueued, 1 dequeued + queued.
static int64_t read_queue(uint64_t queue, uint64_t side) {
    if (queue >= cpu_count || side > 1)
        return -RING_EINVAL;
    struct sched_queue *q = &sched_queues[queue];
    lock_take(&q->lock);
    uint64_t v = side == 0 ? q->enqueued : q->dequeued + q->length;
    lock_drop(&q->lock);
    return (int64_t)v;
}

int64_t measure_read(uint64_t which, uint64_t index, uint64_t further) {
    switch (which) {
    case RING_READ_FREE_PAGES:
        return (int64_t)alloc_free_pages();
    case RING_READ_MY_CYCLES:
        return (int64_t)thread_cycles();
    case RING_READ_FOREIGN:
        return (int64_t)foreign_cycles();
    case RING_READ_COUNTER:
        return read_counter(index, further);
    case RING_READ_ELAPSED:
        return read_elapsed(index);
    case RING_READ_THREAD:
        return books_read(index, further);
    case RING_READ_SAMPLE:
        return books_sample(index, further);
    case RING_READ_QUEUE:
        return read_queue(index, further);
    case RING_READ_PROGRAM:
        return program_cycles(index);
    default:
        return -RING_EINVAL;
    }
}
