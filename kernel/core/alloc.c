#include "core/alloc.h"

#include "core/lock.h"
#include "core/percpu.h"
#include "core/print.h"

#define RANGES 8

static struct lock pages_lock = LOCK(pages);
// Guarded by pages_lock. Pages that were never used are only in `range`, so that boot does not touch them.
static uint64_t list;
static uint64_t listed;
static struct { uint64_t next, end; } range[RANGES];
static unsigned ranges;

void alloc_add(uint64_t from, uint64_t to) {
    from = (from + PAGE_SIZE - 1) & ~(uint64_t)(PAGE_SIZE - 1);
    to &= ~(uint64_t)(PAGE_SIZE - 1);
    if (from < to && ranges < RANGES) {
        range[ranges].next = from;
        range[ranges++].end = to;
    }
}

static uint64_t take_common(void) {
    if (list != 0) {
        uint64_t page = list;
        list = *(uint64_t *)at(page);
        listed--;
        return page;
    }
    for (unsigned i = 0; i < ranges; i++)
        if (range[i].next < range[i].end) {
            range[i].next += PAGE_SIZE;
            return range[i].next - PAGE_SIZE;
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
        lock_take(&pages_lock);
        for (unsigned i = 0; i < PAGE_BATCH; i++) {
            uint64_t page = take_common();
            if (page == 0)
                break;
            keep(cpu, page);
        }
        lock_drop(&pages_lock);
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
    lock_take(&pages_lock);
    for (unsigned i = 0; i < PAGE_BATCH; i++) {
        uint64_t page = unkeep(cpu);
        *(uint64_t *)at(page) = list;
        list = page;
        listed++;
    }
    lock_drop(&pages_lock);
}

uint64_t alloc_free_pages(void) {
    lock_take(&pages_lock);
    uint64_t n = listed;
    for (unsigned i = 0; i < ranges; i++)
        n += (range[i].end - range[i].next) / PAGE_SIZE;
    lock_drop(&pages_lock);
    for (unsigned i = 0; i < cpu_count; i++) // only a hint, while they run
        n += cpus[i].page_count;
    return n;
}
