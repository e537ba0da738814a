// Shared by the policies: run queues, and the search for an idle CPU or for work.
#ifndef SCHED_COMMON_H
#define SCHED_COMMON_H

#include "sched/policy.h"

extern struct sched_queue sched_queues[MAX_CPUS]; // the global policy uses the first

void sched_init_queues(unsigned cpus);

// Called with the queue's lock held. Inserts after `behind`, which is in the queue; NULL: at the head.
void queue_put(struct sched_queue *queue, struct sched_entity *entity, struct sched_entity *behind);
struct sched_entity *queue_take(struct sched_queue *queue); // removes the first; NULL: empty

// Used by more than one policy; see struct sched_policy.
bool sched_dequeue(struct sched_entity *entity);
struct sched_entity *sched_pick_own(unsigned cpu);
unsigned sched_waiting(unsigned cpu);
bool sched_balanced(unsigned cpu);
unsigned sched_wake_cpu(const struct sched_entity *entity, unsigned here, bool *claimed);
// One search for work: examines at most STEAL_VICTIMS queues that are not empty, tries their locks and takes
// one thread.
struct sched_entity *sched_search_others(unsigned cpu);

// For core/fault.c: what it replaces, and by what.
unsigned sched_wake_cpu_deaf(const struct sched_entity *entity, unsigned here, bool *claimed);
struct sched_entity *sched_search_half(unsigned cpu);
struct sched_entity *sched_search_early(unsigned cpu);
void wfq_enqueue(unsigned cpu, struct sched_entity *entity, enum sched_why why);
void wfq_enqueue_late(unsigned cpu, struct sched_entity *entity, enum sched_why why);
void wfq_enqueue_behind(unsigned cpu, struct sched_entity *entity, enum sched_why why);
bool sched_is_hit(unsigned every);

#endif
