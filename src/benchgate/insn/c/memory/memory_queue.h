// The bandwidth of one node: time is divided into slots, and each slot moves one line.
//
// A line takes the first free slot at or after its time. CPUs ask in the order of the simulation, in which
// one may be ahead of another, so a queue that only knew when it is free again would make those wait that
// came first. Here which slots are taken, and the sum of all waits in slots, do not depend on the order of
// asking (Konheim and Weiss, An Occupancy Discipline and Applications, 1966).
#ifndef MEMORY_QUEUE_H
#define MEMORY_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_QUEUE_SLOTS (1u << 17) // what is older than so many slots is forgotten

struct memory_queue {
    uint64_t *taken; // a ring of bits
    uint64_t end;    // the first slot that the ring does not have yet
    uint64_t slot_ps;
};

bool memory_queue_setup(struct memory_queue *q, uint64_t slot_ps);
void memory_queue_free(struct memory_queue *q);
// Takes a slot; gives how many ns after `now` it begins.
uint32_t memory_queue_take(struct memory_queue *q, uint64_t now);

#endif
