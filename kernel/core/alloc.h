// The page allocator. Each CPU caches a few pages; the rest are in one list under the pages lock. A page is
// identified by its physical address; at() gives its address in the direct map. Takes the pages lock.
#ifndef CORE_ALLOC_H
#define CORE_ALLOC_H

#include <stdint.h>

#include "arch/layout.h"

static inline void *at(uint64_t physical) {
    return (void *)(DIRECT_BASE + physical);
}

void alloc_add(uint64_t from, uint64_t to); // boot: a range of free RAM
uint64_t page_take(void);                   // 0: out of memory; the contents are undefined
uint64_t page_take_zeroed(void);
void page_give(uint64_t physical);
void page_clear(void *page);
uint64_t alloc_free_pages(void);

#endif
