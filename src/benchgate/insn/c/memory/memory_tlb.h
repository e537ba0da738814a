// A TLB: virtual pages, true LRU. It does not know translations, only whether the hardware would.
#ifndef MEMORY_TLB_H
#define MEMORY_TLB_H

#include "memory_cache.h"

struct memory_tlb {
    struct memory_cache cache;
};

bool memory_tlb_setup(struct memory_tlb *t, uint32_t entries, uint32_t ways);
void memory_tlb_free(struct memory_tlb *t);
// True if the page was there; it is now.
bool memory_tlb_use(struct memory_tlb *t, uint64_t page);
void memory_tlb_flush(struct memory_tlb *t);

#endif
