// The waits of an access beyond the latency of its place: for a busy line, other CPUs' copies, bandwidth.
// Each function adds to the books, and gives ns.
#ifndef MEMORY_WAIT_H
#define MEMORY_WAIT_H

#include "memory_state.h"

void memory_wait_served(struct memory_access *a, enum memory_class place);
uint32_t memory_wait_count(struct memory_access *a, enum memory_class class, uint32_t ns);
// A line is served to one CPU at a time: sets a->waited. An access from before that does not
// wait: it is late.
void memory_wait_for_line(struct memory_access *a);
// The line is busy for so long from when the wait for it, if any, ended.
void memory_wait_keep_busy(struct memory_access *a, uint32_t ns);
// The access waits for the copies that are taken away (a->farthest), beyond the latency of the place.
uint32_t memory_wait_for_copies(struct memory_access *a, enum memory_class place);
// Takes a slot of the memory of the line's node; gives the wait for it, which is not in the books yet.
uint32_t memory_wait_slot(struct memory_access *a, uint64_t line);

#endif
