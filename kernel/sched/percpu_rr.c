// One queue per CPU, first in, first out. A CPU without work takes one thread from another queue.
#include <stddef.h>

#include "sched/common.h"

static void enqueue(unsigned cpu, struct sched_entity *entity, enum sched_why why) {
    struct sched_queue *queue = &sched_queues[cpu];
    (void)why;
    lock_take(&queue->lock);
    entity->cpu = cpu;
    queue_put(queue, entity, queue->last);
    lock_drop(&queue->lock);
}

static bool tick(unsigned cpu, struct sched_entity *running) {
    (void)running;
    return sched_waiting(cpu) != 0;
}

static bool preempts(const struct sched_entity *woken, const struct sched_entity *running, uint64_t used) {
    (void)woken, (void)running, (void)used;
    return false;
}

const struct sched_policy sched_rr = {
    .name = "rr",
    .init = sched_init_queues,
    .enqueue = enqueue,
    .dequeue = sched_dequeue,
    .pick = sched_pick_own,
    .tick = tick,
    .wake_cpu = sched_wake_cpu,
    .steal = sched_search_others,
    .preempts = preempts,
    .waiting = sched_waiting,
    .balanced = sched_balanced,
};
