// Weighted fair queueing, one queue per CPU (Demers, Keshav and Shenker 1989; per-CPU clocks as in Linux's
// CFS). While a thread is on a CPU, its virtual time advances at 1/weight of real time. The queue is ordered
// by virtual finish: virtual time plus one slice. A queue's clock follows the smallest virtual time it has
// served; a thread that moves to another queue keeps its distance to the clock.
//
// The queue is a sorted list, and an insertion searches it from the end. A thread that has just run belongs
// there, so one comparison is usually enough; at worst the search passes all waiting threads.
#include <stddef.h>

#include "core/fault.h"
#include "ring/abi.h"
#include "sched/common.h"

#define SLICE (SLICE_SHARED_US * sched_cpus.cycles_per_us)

static uint64_t weighted(const struct sched_entity *entity, uint64_t cycles) {
    uint64_t weight = entity->weight ? entity->weight : 1;
    if (fault_is(FAULT_UNFAIR_WEIGHT))
        weight = (weight * weight + SCHED_WEIGHT - 1) / SCHED_WEIGHT;
    return cycles * SCHED_WEIGHT / weight;
}

static bool before(uint64_t a, uint64_t b) {
    return (int64_t)(a - b) < 0;
}

static void charge(struct sched_entity *entity) {
    entity->virtual_time += weighted(entity, entity->ran - entity->charged);
    entity->charged = entity->ran;
}

static uint64_t clock_of(unsigned cpu) {
    return *(volatile uint64_t *)&sched_queues[cpu].clock;
}

// A thread gets no credit for the time it slept. A thread of the short class may have one slice of credit;
// one of the batch class starts one slice behind.
static void place(struct sched_queue *queue, struct sched_entity *entity, enum sched_why why) {
    if (why == SCHED_PREEMPTED)
        return;
    uint64_t floor = queue->clock;
    if (entity->latency == RING_LATENCY_SHORT)
        floor -= SLICE;
    else if (entity->latency == RING_LATENCY_BATCH && why == SCHED_NEW)
        floor += SLICE;
    if (why == SCHED_NEW || before(entity->virtual_time, floor))
        entity->virtual_time = floor;
}

static struct sched_entity *last_before(const struct sched_queue *queue, uint64_t finish) {
    struct sched_entity *entity = queue->last;
    while (entity != NULL && before(finish, entity->finish))
        entity = entity->previous;
    return entity;
}

void wfq_enqueue(unsigned cpu, struct sched_entity *entity, enum sched_why why) {
    struct sched_queue *queue = &sched_queues[cpu];
    charge(entity);
    lock_take(&queue->lock);
    if (entity->cpu != cpu)
        entity->virtual_time += queue->clock - clock_of(entity->cpu);
    entity->cpu = cpu;
    place(queue, entity, why);
    entity->finish = entity->virtual_time + weighted(entity, SLICE);
    queue_put(queue, entity, last_before(queue, entity->finish));
    lock_drop(&queue->lock);
}

// fault=unlocked-count: writes the queue's length when it has no lock any more, so a thread that another CPU takes
// meanwhile is still counted.
FAULT_COPY __attribute__((flatten)) void wfq_enqueue_late(unsigned cpu, struct sched_entity *entity,
                                                          enum sched_why why) {
    struct sched_queue *queue = &sched_queues[cpu];
    charge(entity);
    lock_take(&queue->lock);
    if (entity->cpu != cpu)
        entity->virtual_time += queue->clock - clock_of(entity->cpu);
    entity->cpu = cpu;
    place(queue, entity, why);
    entity->finish = entity->virtual_time + weighted(entity, SLICE);
    unsigned length = queue->length + 1;
    queue_put(queue, entity, last_before(queue, entity->finish));
    lock_drop(&queue->lock);
    __atomic_store_n(&queue->length, length, __ATOMIC_RELAXED);
}

// fault=behind: one woken thread in a hundred counts as due a hundred slices later than it is.
FAULT_COPY __attribute__((flatten)) void wfq_enqueue_behind(unsigned cpu, struct sched_entity *entity,
                                                            enum sched_why why) {
    struct sched_queue *queue = &sched_queues[cpu];
    uint64_t slices = why == SCHED_WAKE && sched_is_hit(100) ? 100 : 1;
    charge(entity);
    lock_take(&queue->lock);
    if (entity->cpu != cpu)
        entity->virtual_time += queue->clock - clock_of(entity->cpu);
    entity->cpu = cpu;
    place(queue, entity, why);
    entity->finish = entity->virtual_time + slices * weighted(entity, SLICE);
    queue_put(queue, entity, last_before(queue, entity->finish));
    lock_drop(&queue->lock);
}

static bool tick(unsigned cpu, struct sched_entity *running) {
    struct sched_queue *queue = &sched_queues[cpu];
    charge(running);
    lock_take(&queue->lock);
    struct sched_entity *first = queue->first;
    uint64_t least = running->virtual_time;
    if (first != NULL && before(first->virtual_time, least))
        least = first->virtual_time;
    if (before(queue->clock, least))
        queue->clock = least;
    bool yield = first != NULL && before(first->finish, running->virtual_time + weighted(running, SLICE));
    lock_drop(&queue->lock);
    return yield;
}

// Takes the thread that would have run next there, and moves it to this CPU's clock.
static struct sched_entity *steal(unsigned cpu) {
    struct sched_entity *entity = sched_search_others(cpu);
    if (entity != NULL) {
        entity->virtual_time += clock_of(cpu) - clock_of(entity->cpu);
        entity->cpu = cpu;
    }
    return entity;
}

static bool preempts(const struct sched_entity *woken, const struct sched_entity *running, uint64_t used) {
    if (woken->cpu != running->cpu)
        return false;
    uint64_t margin = woken->latency == RING_LATENCY_SHORT ? 0 : SLICE / 2;
    uint64_t reached = running->virtual_time + weighted(running, running->ran - running->charged + used);
    return before(woken->virtual_time + margin, reached);
}

const struct sched_policy sched_wfq = {
    .name = "wfq",
    .init = sched_init_queues,
    .enqueue = wfq_enqueue,
    .dequeue = sched_dequeue,
    .pick = sched_pick_own,
    .tick = tick,
    .wake_cpu = sched_wake_cpu,
    .steal = steal,
    .preempts = preempts,
    .waiting = sched_waiting,
    .balanced = sched_balanced,
};
