// A queue for each CPU, first in, first out; whoever has nothing to do takes one thread from another.
#include <stddef.h>

#include "sched/common.h"

static void enqueue(unsigned cpu, struct sched_entity *entity, enum sched_why why) {
    struct sched_queue *queue = &sched_queues[cpu];
    (void)why;
    lock_take(&queue->lock);
    entity->cpu = cpu;
    fifo_add(queue, entity);
    sched_hold_fault();
    lock_drop(&queue->lock);
}

static bool dequeue(struct sched_entity *entity) {
    struct sched_queue *queue = &sched_queues[entity->cpu];
    lock_take(&queue->lock);
    bool found = fifo_remove(queue, entity);
    lock_drop(&queue->lock);
    return found;
}

static struct sched_entity *pick(unsigned cpu) {
    struct sched_queue *queue = &sched_queues[cpu];
    if (sched_waiting(cpu) == 0)
        return NULL;
    lock_take(&queue->lock);
    struct sched_entity *entity = fifo_take(queue);
    lock_drop(&queue->lock);
    return entity;
}

static bool tick(unsigned cpu, struct sched_entity *running) {
    (void)running;
    return sched_waiting(cpu) != 0;
}

static struct sched_entity *steal(unsigned cpu) {
    return sched_search_others(cpu, fifo_take);
}

static bool preempts(const struct sched_entity *woken, const struct sched_entity *running) {
    (void)woken, (void)running;
    return false;
}

const struct sched_policy sched_rr = {
    .name = "rr",
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
