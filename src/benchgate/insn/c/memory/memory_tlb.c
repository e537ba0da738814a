// See memory_tlb.h.
#include "memory_tlb.h"

#include <string.h>

bool memory_tlb_setup(struct memory_tlb *t, uint32_t entries, uint32_t ways) {
    struct memory_level level = {.sets = entries / ways, .ways = ways};
    return memory_cache_setup(&t->cache, &level, false);
}

void memory_tlb_free(struct memory_tlb *t) {
    memory_cache_free(&t->cache);
}

bool memory_tlb_use(struct memory_tlb *t, uint64_t page) {
    uint64_t at = memory_cache_find(&t->cache, page);
    if (at == MEMORY_CACHE_NONE)
        memory_cache_fill(&t->cache, page, memory_key(page) | MEMORY_S);
    else
        memory_cache_use(&t->cache, page, at);
    return at != MEMORY_CACHE_NONE;
}

void memory_tlb_flush(struct memory_tlb *t) {
    const struct memory_first *first = &t->cache.first;
    memset(first->tags, 0, (uint64_t)first->sets * first->ways * sizeof *first->tags);
}
