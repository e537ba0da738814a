#include "measure/measure.h"

#include "arch/serial.h"
#include "arch/tsc.h"
#include "core/alloc.h"
#include "core/percpu.h"
#include "core/string.h"
#include "core/thread.h"
#include "measure/books.h"
#include "ring/abi.h"
#include "sched/common.h"

bool measure_on;

// Border b is the beginning of phase b; the last one the end of the window. Each is taken once, by the one
// CPU that moved `phase` on; other CPUs' counters are read while they run.
static struct counters border[RING_PHASES + 1][MAX_CPUS];
static _Atomic unsigned phase = RING_PHASES; // the window is closed

bool measure_window_open(void) {
    return atomic_load_explicit(&phase, memory_order_relaxed) != RING_PHASES;
}

// Time since the last switch is not yet in the books of a CPU that has run one thread for long.
static void take_border(struct counters *to, const struct cpu *cpu, uint64_t t) {
    *to = cpu->count;
    uint64_t since = t > cpu->charged_to ? t - cpu->charged_to : 0;
    *(cpu->current == cpu->idle ? &to->idle_cycles : &to->busy_cycles) += since;
    to->steals_tried = sched_search[cpu->index].tried;
    to->steals_done = sched_search[cpu->index].done;
}

static void move_on(unsigned from, unsigned to) {
    if (!atomic_compare_exchange_strong(&phase, &from, to))
        return;
    uint64_t t = now();
    for (unsigned i = 0; measure_on && i < cpu_count; i++)
        take_border(&border[to][i], &cpus[i], t);
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
        move_on(RING_PHASE_SPAWN_READY, RING_PHASE_WORK); // a phase that nobody marked is empty
        move_on(RING_PHASE_WORK, RING_PHASE_SHUTDOWN);
        move_on(RING_PHASE_SHUTDOWN, RING_PHASES);
        serial_hold(0);
        serial_flush();
        return 0;
    default:
        return -RING_EINVAL;
    }
}

static uint64_t number_of(const struct counters *counters, uint64_t which) {
    return ((const uint64_t *)counters)[which];
}

// index: phase * MAX_CPUS + CPU; the phase after the last is the whole window.
static int64_t read_counter(uint64_t index, uint64_t which) {
    uint64_t p = index / MAX_CPUS, cpu = index % MAX_CPUS;
    if (p > RING_PHASES || cpu >= cpu_count || which >= COUNTERS)
        return -RING_EINVAL;
    uint64_t from = number_of(&border[p == RING_PHASES ? 0 : p][cpu], which);
    uint64_t to = number_of(&border[p == RING_PHASES ? RING_PHASES : p + 1][cpu], which);
    bool highest = which == __builtin_offsetof(struct counters, queue_depth_max) / 8;
    return (int64_t)(highest ? to : to - from);
}

static uint64_t foreign_cycles(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < cpu_count; i++)
        sum += cpus[i].count.foreign_cycles;
    return sum;
}

// Both sides of a queue's books: 0 enqueued, 1 dequeued + queued.
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
    case RING_READ_THREAD:
        return books_read(index, further);
    case RING_READ_SAMPLE:
        return books_sample(index, further);
    case RING_READ_QUEUE:
        return read_queue(index, further);
    default:
        return -RING_EINVAL;
    }
}
