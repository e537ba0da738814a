#include "core/alloc.h"

#include "core/lock.h"
#include "core/percpu.h"
#include "core/print.h"

#define RANGES 8

// The lock and what it guards. Pages that were never used are only in `range`, so that boot does not touch them.
static struct {
    _Alignas(128) struct lock lock;
    uint64_t list, listed;
    unsigned ranges;
    struct { uint64_t next, end; } range[RANGES];
} common = {.lock = LOCK(pages)};

void alloc_add(uint64_t from, uint64_t to) {
    from = (from + PAGE_SIZE - 1) & ~(uint64_t)(PAGE_SIZE - 1);
    to &= ~(uint64_t)(PAGE_SIZE - 1);
    if (from < to && common.ranges < RANGES) {
        common.range[common.ranges].next = from;
        common.range[common.ranges++].end = to;
    }
}

static uint64_t take_common(void) {
    if (common.list != 0) {
        uint64_t page = common.list;
        common.list = *(uint64_t *)at(page);
        common.listed--;
        return page;
    }
    for (unsigned i = 0; i < common.ranges; i++)
        if (common.range[i].next < common.range[i].end) {
            common.range[i].next += PAGE_SIZE;
            return common.range[i].next - PAGE_SIZE;
        }
    return 0;
}

static void keep(struct cpu *cpu, uint64_t page) {
    *(void **)at(page) = cpu->pages;
    cpu->pages = at(page);
    cpu->page_count++;
}

static uint64_t unkeep(struct cpu *cpu) {
    void *page = cpu->pages;
    cpu->pages = *(void **)page;
    cpu->page_count--;
    return (uint64_t)page - DIRECT_BASE;
}

uint64_t page_take(void) {
    struct cpu *cpu = this_cpu();
    if (cpu->page_count == 0) {
        lock_take(&common.lock);
        for (unsigned i = 0; i < PAGE_BATCH; i++) {
            uint64_t page = take_common();
            if (page == 0)
                break;
            keep(cpu, page);
        }
        lock_drop(&common.lock);
    }
    return cpu->page_count ? unkeep(cpu) : 0;
}

void page_clear(void *page) {
    uint64_t count = PAGE_SIZE / 8;
    __asm__ volatile("rep stosq" : "+D"(page), "+c"(count) : "a"(0) : "memory");
}

uint64_t page_take_zeroed(void) {
    uint64_t page = page_take();
    if (page != 0)
        page_clear(at(page));
    return page;
}

void page_give(uint64_t physical) {
    struct cpu *cpu = this_cpu();
    assert(physical != 0 && physical % PAGE_SIZE == 0);
    keep(cpu, physical);
    if (cpu->page_count < PAGE_MAGAZINE)
        return;
    lock_take(&common.lock);
    for (unsigned i = 0; i < PAGE_BATCH; i++) {
        uint64_t page = unkeep(cpu);
        *(uint64_t *)at(page) = common.list;
        common.list = page;
        common.listed++;
    }
    lock_drop(&common.lock);
}

uint64_t alloc_free_pages(void) {
    lock_take(&common.lock);
    uint64_t n = common.listed;
    for (unsigned i = 0; i < common.ranges; i++)
        n += (common.range[i].end - common.range[i].next) / PAGE_SIZE;
    lock_drop(&common.lock);
    for (unsigned i = 0; i < cpu_count; i++) // only a hint, while they run
        n += cpus[i].page_count;
    return n;
}
