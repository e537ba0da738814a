// Weighted fair queueing, one queue for each CPU (Demers, Keshav and Shenker 1989; per-CPU clocks as in
// Linux's CFS). A thread's virtual time runs at 1/weight of real time while it is on a CPU. The queue is
// ordered by virtual finish: virtual time plus one slice. A queue's clock follows the smallest virtual time
// it has served; a thread that goes to another queue keeps its distance to the clock.
//
// The order is kept in a pairing heap (Fredman, Sedgewick, Sleator and Tarjan 1986).
#include <stddef.h>

#include "core/fault.h"
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

// ---- the heap

static struct sched_entity *meld(struct sched_entity *a, struct sched_entity *b) {
    if (a == NULL)
        return b;
    if (b == NULL)
        return a;
    if (before(b->finish, a->finish)) {
        struct sched_entity *t = a;
        a = b;
        b = t;
    }
    b->next = a->child;
    a->child = b;
    return a;
}

// Two passes over the children: meld in pairs from left to right, then all from right to left.
static struct sched_entity *meld_children(struct sched_entity *first) {
    struct sched_entity *pairs = NULL, *root = NULL;
    while (first != NULL) {
        struct sched_entity *a = first, *b = a->next;
        first = b ? b->next : NULL;
        a->next = NULL;
        if (b != NULL)
            b->next = NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs != NULL) {
        struct sched_entity *a = pairs;
        pairs = a->next;
        a->next = NULL;
        root = meld(root, a);
    }
    return root;
}

static struct sched_entity *take_first(struct sched_queue *queue) {
    struct sched_entity *entity = queue->head;
    if (entity == NULL)
        return NULL;
    queue->head = meld_children(entity->child);
    entity->child = entity->next = NULL;
    entity->queued = false;
    queue->dequeued++;
    queue->length--;
    if (before(queue->clock, entity->virtual_time))
        queue->clock = entity->virtual_time;
    return entity;
}

// ---- the policy

static uint64_t clock_of(unsigned cpu) {
    return *(volatile uint64_t *)&sched_queues[cpu].clock;
}

// A thread that slept may not claim the time it slept through; one of the short class may claim a slice, one
// of the batch class starts a slice behind.
static void place(struct sched_queue *queue, struct sched_entity *entity, enum sched_why why) {
    if (why == SCHED_PREEMPTED)
        return;
    uint64_t floor = queue->clock;
    if (entity->latency == 1)
        floor -= SLICE;
    else if (entity->latency == 2 && why == SCHED_NEW)
        floor += SLICE;
    if (why == SCHED_NEW || before(entity->virtual_time, floor))
        entity->virtual_time = floor;
}

static void enqueue(unsigned cpu, struct sched_entity *entity, enum sched_why why) {
    struct sched_queue *queue = &sched_queues[cpu];
    charge(entity);
    lock_take(&queue->lock);
    if (entity->cpu != cpu)
        entity->virtual_time += queue->clock - clock_of(entity->cpu);
    entity->cpu = cpu;
    place(queue, entity, why);
    entity->finish = entity->virtual_time + weighted(entity, SLICE);
    entity->child = entity->next = NULL;
    entity->queued = true;
    queue->head = meld(queue->head, entity);
    queue->enqueued++;
    queue->length++;
    sched_hold_fault();
    lock_drop(&queue->lock);
}

static struct sched_entity *pick(unsigned cpu) {
    struct sched_queue *queue = &sched_queues[cpu];
    if (sched_waiting(cpu) == 0)
        return NULL;
    lock_take(&queue->lock);
    struct sched_entity *entity = take_first(queue);
    lock_drop(&queue->lock);
    return entity;
}

// Rare, so simple: takes everything out and puts the others back.
static bool dequeue(struct sched_entity *entity) {
    struct sched_queue *queue = &sched_queues[entity->cpu];
    struct sched_entity *others = NULL, *e;
    bool found = false;
    lock_take(&queue->lock);
    uint64_t clock = queue->clock;
    while ((e = take_first(queue)) != NULL) {
        if (e == entity) {
            found = true;
            continue;
        }
        e->next = others;
        others = e;
    }
    queue->clock = clock;
    while (others != NULL) {
        e = others;
        others = e->next;
        e->next = NULL;
        e->queued = true;
        queue->head = meld(queue->head, e);
        queue->dequeued--;
        queue->length++;
    }
    lock_drop(&queue->lock);
    return found;
}

static bool tick(unsigned cpu, struct sched_entity *running) {
    struct sched_queue *queue = &sched_queues[cpu];
    charge(running);
    lock_take(&queue->lock);
    struct sched_entity *first = queue->head;
    uint64_t least = running->virtual_time;
    if (first != NULL && before(first->virtual_time, least))
        least = first->virtual_time;
    if (before(queue->clock, least))
        queue->clock = least;
    bool yield = first != NULL && before(first->finish, running->virtual_time + weighted(running, SLICE));
    lock_drop(&queue->lock);
    return yield;
}

// The thief takes the thread that would have run next there, and moves it to its own clock.
static struct sched_entity *steal(unsigned cpu) {
    struct sched_entity *entity = sched_search_others(cpu, take_first);
    if (entity != NULL) {
        entity->virtual_time += clock_of(cpu) - clock_of(entity->cpu);
        entity->cpu = cpu;
    }
    return entity;
}

static bool preempts(const struct sched_entity *woken, const struct sched_entity *running) {
    if (woken->cpu != running->cpu)
        return false;
    uint64_t margin = woken->latency == 1 ? 0 : SLICE / 2;
    return before(woken->virtual_time + margin, running->virtual_time);
}

const struct sched_policy sched_wfq = {
    .name = "wfq",
    .init = sched_init_queues,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .pick = pick,
    .tick = tick,
    .wake_cpu = sched_wake_cpu,
    .steal = steal,
    .preempts = preempts,
    .waiting = sched_waiting,
    .balanced = sched_balanced,
};
