// One queue for all CPUs, first in, first out. Simple and fair; each pick on each CPU takes the same lock.
#include <stddef.h>

#include "sched/common.h"

static struct sched_queue *const all = &sched_queues[0];

static void enqueue(unsigned cpu, struct sched_entity *entity, enum sched_why why) {
    (void)cpu, (void)why;
    lock_take(&all->lock);
    queue_put(all, entity, all->last);
    lock_drop(&all->lock);
}

// Takes the lock without reading the length first: that check is what makes a per-CPU queue cheap.
static struct sched_entity *pick(unsigned cpu) {
    (void)cpu;
    lock_take(&all->lock);
    struct sched_entity *entity = queue_take(all);
    lock_drop(&all->lock);
    return entity;
}

static unsigned waiting(unsigned cpu) {
    (void)cpu;
    return sched_waiting(0);
}

static bool tick(unsigned cpu, struct sched_entity *running) {
    (void)running;
    return waiting(cpu) != 0;
}

static struct sched_entity *steal(unsigned cpu) {
    (void)cpu;
    return NULL; // there is no other queue
}

static bool preempts(const struct sched_entity *woken, const struct sched_entity *running, uint64_t used) {
    (void)woken, (void)running, (void)used;
    return false;
}

static unsigned wake_cpu(const struct sched_entity *entity, unsigned here, bool *claimed) {
    int idle = sched_claim_idle(entity->cpu);
    *claimed = idle >= 0;
    return idle >= 0 ? (unsigned)idle : here;
}

static bool balanced(unsigned cpu) {
    return cpu != 0 || sched_balanced(0);
}

const struct sched_policy sched_global = {
    .name = "global",
    .init = sched_init_queues,
    .enqueue = enqueue,
    .dequeue = sched_dequeue,
    .pick = pick,
    .tick = tick,
    .wake_cpu = wake_cpu,
    .steal = steal,
    .preempts = preempts,
    .waiting = waiting,
    .balanced = balanced,
};
