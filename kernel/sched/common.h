// What the policies share: queues with their books, and the search for an idle CPU or for work.
#ifndef SCHED_COMMON_H
#define SCHED_COMMON_H

#include "sched/policy.h"

extern struct sched_queue sched_queues[MAX_CPUS]; // the global policy uses the first

void sched_init_queues(unsigned cpus);
void sched_hold_fault(void); // fault=lock-hold: call it with a queue's lock held

// First in, first out. The queue's lock is held.
void fifo_add(struct sched_queue *queue, struct sched_entity *entity);
struct sched_entity *fifo_take(struct sched_queue *queue);
bool fifo_remove(struct sched_queue *queue, struct sched_entity *entity);

unsigned sched_waiting(unsigned cpu);
bool sched_balanced(unsigned cpu);
unsigned sched_wake_cpu(const struct sched_entity *entity, unsigned here, bool *claimed);

// One search for work: looks at no more than STEAL_VICTIMS queues that somebody waits in, tries their locks
// and takes one thread by `take`.
struct sched_entity *sched_search_others(unsigned cpu, struct sched_entity *(*take)(struct sched_queue *));

#endif
