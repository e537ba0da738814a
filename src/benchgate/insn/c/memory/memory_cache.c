// See memory_cache.h.
#include "memory_cache.h"

#include <stdlib.h>

bool memory_cache_setup(struct memory_cache *c, const struct memory_level *level, bool timed) {
    struct memory_first *first = &c->first;
    uint64_t ways = (uint64_t)level->sets * level->ways;
    first->sets = level->sets;
    first->ways = level->ways;
    first->mask = level->sets & (level->sets - 1) ? 0 : level->sets - 1;
    first->tags = calloc(ways, sizeof *first->tags);
    first->times = timed ? calloc(ways, sizeof *first->times) : NULL;
    return first->tags && (first->times || !timed);
}

void memory_cache_free(struct memory_cache *c) {
    free(c->first.tags);
    free(c->first.times);
}

// Puts `in` before the first way of a set; those up to `at` move back. Gives what was in the last of them.
static struct memory_victim push(struct memory_first *f, uint64_t front, uint64_t at,
                                 struct memory_victim in) {
    struct memory_victim out = in;
    for (uint64_t i = front; i <= at; i++) {
        uint64_t tag = f->tags[i];
        f->tags[i] = out.tag;
        out.tag = tag;
    }
    for (uint64_t i = front; f->times && i <= at; i++) {
        struct memory_times times = f->times[i];
        f->times[i] = out.times;
        out.times = times;
    }
    return out;
}

uint64_t memory_cache_use(struct memory_cache *c, uint64_t line, uint64_t at) {
    struct memory_first *f = &c->first;
    uint64_t front = memory_cache_set(c, line);
    if (at == front)
        return front;
    struct memory_victim used = {.tag = f->tags[at]};
    if (f->times)
        used.times = f->times[at];
    push(f, front, at, used);
    return front;
}

// The way to replace: an empty one, if there is one.
static uint64_t oldest(const struct memory_cache *c, uint64_t set) {
    uint64_t at = set, last = set + c->first.ways - 1;
    while (at < last && c->first.tags[at])
        at++;
    return at;
}

struct memory_victim memory_cache_fill(struct memory_cache *c, uint64_t line, uint64_t tag) {
    uint64_t front = memory_cache_set(c, line);
    return push(&c->first, front, oldest(c, front), (struct memory_victim){.tag = tag});
}

bool memory_spot_hit_again(struct memory_front *f, const struct memory_spot *spot, enum memory_kind kind,
                           uint64_t now) {
    const struct memory_first *first = kind == MEMORY_FETCH ? &f->code : &f->data;
    uint32_t way = 1;
    while (way < first->ways && (spot->tag[way] ^ spot->key) >> 3)
        way++;
    if (way >= first->ways)
        return false;
    uint64_t tag = spot->tag[way];
    struct memory_times times = spot->times[way];
    for (; way > 0; way--) {
        spot->tag[way] = spot->tag[way - 1];
        spot->times[way] = spot->times[way - 1];
    }
    *spot->tag = tag;
    *spot->times = times;
    return memory_spot_hit(f, spot, kind, now);
}
