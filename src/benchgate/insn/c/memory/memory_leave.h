// Lines leave caches: for other lines, or because another CPU writes. Modified data is kept.
#ifndef MEMORY_LEAVE_H
#define MEMORY_LEAVE_H

#include "memory_state.h"

// This line has left the CPU's own L2 for another one.
void memory_leave_second(struct memory_access *a, struct memory_victim victim);
// The CPU writes: all other L2s lose their copies; so do the L3s of other clusters, and the own one's is not
// modified any more. Sets a->farthest.
void memory_leave_others(struct memory_access *a);
void memory_leave_thirds(struct memory_access *a);
// The CPU reads a line that another one owns, which keeps it as S.
void memory_leave_owner(struct memory_access *a);
// The CPU reads: if another cluster's L3 has the line modified, it goes to memory.
void memory_leave_modified(struct memory_access *a);
// The L3 of this CPU's cluster takes the line, or its new data.
void memory_leave_into_third(struct memory_access *a, unsigned c, uint64_t line, struct memory_line *entry,
                             enum memory_mesi state);

// Changes the low bits of a line's tag, if it is there.
static inline void memory_leave_as(struct memory_cache *cache, uint64_t line, uint64_t low) {
    uint64_t at = memory_cache_find(cache, line);
    if (at != MEMORY_CACHE_NONE)
        cache->first.tags[at] = memory_key(line) | low;
}

#endif
