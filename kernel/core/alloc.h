// Pages of RAM. Each CPU keeps a few for itself; the rest are in one list under the pages lock. Physical
// addresses are the names of pages; at() shows one through the direct map. Takes the pages lock.
#ifndef CORE_ALLOC_H
#define CORE_ALLOC_H

#include <stdint.h>

#include "arch/layout.h"

static inline void *at(uint64_t physical) {
    return (void *)(DIRECT_BASE + physical);
}

void alloc_add(uint64_t from, uint64_t to); // boot: a range of free RAM
uint64_t page_take(void);                   // 0: no more; contents are anything
uint64_t page_take_zeroed(void);
void page_give(uint64_t physical);
void page_clear(void *page);
uint64_t alloc_free_pages(void);

#endif
