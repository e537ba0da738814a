// One cache: sets, ways and true LRU. It knows lines and tags (memory.h), nothing of other caches.
//
// The ways of a set lie in the order of their last use, the most recent one first. So the short path looks at one
// place, a search finds what was used lately at once, and the last way is the one to replace. A way that was
// emptied stays where it is.
#ifndef MEMORY_CACHE_H
#define MEMORY_CACHE_H

#include "memory.h"

struct memory_cache {
    struct memory_first first;
};

#define MEMORY_CACHE_NONE UINT64_MAX

bool memory_cache_setup(struct memory_cache *c, const struct memory_level *level, bool timed);
void memory_cache_free(struct memory_cache *c);
// Empties a way for a new line: an empty one, else the least recent. Gives what it held.
struct memory_victim {
    uint64_t tag;
    struct memory_times times;
};
struct memory_victim memory_cache_fill(struct memory_cache *c, uint64_t line, uint64_t tag);

static inline uint64_t memory_cache_line(uint64_t tag) {
    return (tag >> 3) - 1;
}

static inline uint64_t memory_cache_set(const struct memory_cache *c, uint64_t line) {
    return (c->first.mask ? line & c->first.mask : line % c->first.sets) * c->first.ways;
}

// The index of a line's way, or MEMORY_CACHE_NONE.
static inline uint64_t memory_cache_find(const struct memory_cache *c, uint64_t line) {
    uint64_t at = memory_cache_set(c, line), end = at + c->first.ways, key = memory_key(line) >> 3;
    for (; at < end; at++)
        if (c->first.tags[at] >> 3 == key)
            return at;
    return MEMORY_CACHE_NONE;
}

// Empties the way of a line; false if it was not there.
static inline bool memory_cache_clear(struct memory_cache *c, uint64_t line) {
    uint64_t at = memory_cache_find(c, line);
    if (at != MEMORY_CACHE_NONE)
        c->first.tags[at] = 0;
    return at != MEMORY_CACHE_NONE;
}

// Makes the way of a line the most recent of its set; gives its new index.
uint64_t memory_cache_use(struct memory_cache *c, uint64_t line, uint64_t at);
// The host is asked for what a look at the line's set will need.
static inline void memory_cache_expect(const struct memory_cache *c, uint64_t line) {
    const uint64_t *tags = &c->first.tags[memory_cache_set(c, line)];
    __builtin_prefetch(tags);
    __builtin_prefetch(tags + c->first.ways - 1);
}

#endif
