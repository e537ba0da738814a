#include "core/vm.h"

#include "arch/tlb.h"
#include "arch/x86.h"
#include "core/fault.h"
#include "core/percpu.h"
#include "core/print.h"
#include "core/string.h"
#include "core/thread.h"
#include "ring/abi.h"

#define BATCH_PAGES 64   // mapped or unmapped before other threads may run
#define BATCH_LOOKS 4096 // addresses that are examined for that

extern uint64_t kernel_pml4[512], kernel_pd[512], direct_pd[2048];
extern char text_start[], rodata_start[], data_start[], kernel_end[];

struct address_space shared_space = {.lock = LOCK(shared), .next = USER_SHARED};
static struct address_space kernel_space = {.lock = LOCK(vm)};
uint64_t page_nx;

static uint64_t physical(const void *kernel) {
    return (uint64_t)kernel - KERNEL_BASE;
}
static unsigned slot_of(uint64_t where, unsigned level) {
    return where >> (12 + 9 * level) & 511;
}

void vm_init(void) {
    if (rdmsr(MSR_EFER) & EFER_NXE)
        page_nx = PTE_NX;
    for (unsigned i = 0; i < 2048; i++)
        direct_pd[i] |= page_nx;
    for (unsigned i = 0; i < 512; i++) {
        uint64_t where = KERNEL_BASE + (uint64_t)i * LARGE_PAGE, rights;
        if (where < (uint64_t)text_start || where >= (uint64_t)kernel_end)
            rights = 0;
        else if (where < (uint64_t)rodata_start)
            rights = PTE_PRESENT;
        else
            rights = PTE_PRESENT | page_nx | (where >= (uint64_t)data_start ? PTE_WRITE : 0);
        kernel_pd[i] = rights ? (uint64_t)i * LARGE_PAGE | PTE_LARGE | PTE_GLOBAL | rights : 0;
    }
    kernel_space.root = physical(kernel_pml4);
    kernel_pml4[slot_of(STACKS_BASE, 3)] = page_take_zeroed() | PTE_PRESENT | PTE_WRITE;
    kernel_pml4[slot_of(USER_SHARED, 3)] = page_take_zeroed() | PTE_PRESENT | PTE_WRITE | PTE_USER;
    shared_space.root = kernel_space.root;
    atomic_store(&shared_space.cpus, ~0ul >> (64 - cpu_count));
}

void vm_cpu_init(void) {
    wrmsr(MSR_PAT, 0x0007040600070406); // the reset value: WB WT UC- UC, twice
    write_cr3(physical(kernel_pml4));
    uint64_t bits = 0x80; // PGE: only now, so that no page of the identity map was ever global
    if (CONFIG_HARDENED && cpuid(0, 0).a >= 7) {
        uint32_t b = cpuid(7, 0).b;
        bits |= (b >> 7 & 1 ? CR4_SMEP : 0) | (b >> 20 & 1 ? CR4_SMAP : 0);
    }
    write_cr4(read_cr4() | bits);
}

void vm_enter(struct cpu *cpu, struct address_space *space) {
    if (cpu->space == space)
        return;
    if (cpu->space != NULL)
        atomic_fetch_and_explicit(&cpu->space->cpus, ~(1ul << cpu->index), memory_order_release);
    // seq_cst, with tlb_shoot: the bit is visible before the tables are used
    atomic_fetch_or_explicit(&space->cpus, 1ul << cpu->index, memory_order_seq_cst);
    cpu->space = space;
    write_cr3(space->root);
}

void vm_leave(struct cpu *cpu) {
    struct address_space *space = cpu->space;
    if (space == NULL)
        return;
    write_cr3(physical(kernel_pml4));
    cpu->space = NULL;
    // release: a CPU that sees the bit cleared knows that this one no longer uses the tables
    atomic_fetch_and_explicit(&space->cpus, ~(1ul << cpu->index), memory_order_release);
}

// The entry that maps `where`, or NULL if a table is missing. With `make`, missing tables are allocated; NULL
// then means out of memory. A table stays until its space is destroyed, so a reader needs no lock.
static uint64_t *entry_of(struct address_space *space, uint64_t where, bool make) {
    uint64_t *table = at(space->root);
    for (unsigned level = 3; level > 0; level--) {
        uint64_t *entry = &table[slot_of(where, level)];
        // acquire and release: whoever sees the entry sees a table that is zeroed
        uint64_t value = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
        if (!(value & PTE_PRESENT)) {
            uint64_t page = make ? page_take_zeroed() : 0;
            if (page == 0)
                return NULL;
            value = page | PTE_PRESENT | PTE_WRITE | PTE_USER;
            __atomic_store_n(entry, value, __ATOMIC_RELEASE);
        }
        table = at(value & PTE_ADDRESS);
    }
    return &table[slot_of(where, 0)];
}

static bool put_page(struct address_space *space, uint64_t where, uint64_t page, uint64_t rights) {
    uint64_t *entry = entry_of(space, where, true);
    if (entry == NULL || (*entry & PTE_PRESENT))
        return false;
    *entry = page | PTE_PRESENT | PTE_USER | rights;
    return true;
}

bool vm_map_page(struct address_space *space, uint64_t where, uint64_t page, uint64_t rights) {
    lock_take(&space->lock);
    bool done = put_page(space, where, page, rights);
    lock_drop(&space->lock);
    return done;
}

// Zeroes the page before it takes the lock: that is what takes time.
uint64_t vm_map_zeroed(struct address_space *space, uint64_t where) {
    uint64_t page = page_take_zeroed();
    if (page != 0 && !vm_map_page(space, where, page, PTE_WRITE | page_nx)) {
        page_give(page);
        return 0;
    }
    return page;
}

static bool put_zeroed(struct address_space *space, uint64_t where) {
    uint64_t page = page_take_zeroed();
    if (page != 0 && put_page(space, where, page, PTE_WRITE | page_nx))
        return true;
    if (page != 0)
        page_give(page);
    return false;
}

bool vm_create(struct address_space *space) {
    uint64_t root = page_take_zeroed();
    if (root == 0)
        return false;
    uint64_t *table = at(root);
    const uint64_t common[] = {DIRECT_BASE, STACKS_BASE, KERNEL_BASE, USER_SHARED};
    for (unsigned i = 0; i < sizeof common / sizeof *common; i++)
        table[slot_of(common[i], 3)] = kernel_pml4[slot_of(common[i], 3)];
    *space = (struct address_space){.root = root, .lock = LOCK(vm), .next = USER_PRIVATE};
    return true;
}

static void free_below(uint64_t table, unsigned level) {
    for (unsigned i = 0; i < 512; i++) {
        uint64_t entry = ((uint64_t *)at(table))[i];
        if (!(entry & PTE_PRESENT))
            continue;
        if (level > 0)
            free_below(entry & PTE_ADDRESS, level - 1);
        else if (!(entry & PTE_BORROWED))
            page_give(entry & PTE_ADDRESS);
    }
    page_give(table);
}

void vm_destroy(struct address_space *space) {
    // Idle CPUs that still have the space loaded drop it when asked. A CPU that is just switching away from
    // its last thread of this space may answer before it does, so ask until none is left.
    // acquire: pairs with the release in vm_leave and vm_enter
    do
        tlb_shoot(space);
    while (atomic_load_explicit(&space->cpus, memory_order_acquire) != 0);
    uint64_t *table = at(space->root);
    for (unsigned i = 0; i < slot_of(USER_SHARED, 3); i++)
        if (table[i] & PTE_PRESENT)
            free_below(table[i] & PTE_ADDRESS, 2);
    page_give(space->root);
    space->root = 0;
}

// Addresses are handed out once, in ascending order. Those of a failed map are reused, unless another map
// followed it. The lock is not held from page to page: mapping all RAM takes seconds.
uint64_t vm_map(struct address_space *space, uint64_t bytes) {
    uint64_t pages = (bytes + PAGE_SIZE - 1) / PAGE_SIZE, done = 0;
    uint64_t room = (pages + 1) * PAGE_SIZE;      // the gap catches overruns
    if (bytes == 0 || pages > alloc_free_pages()) // cannot succeed
        return 0;
    lock_take(&space->lock);
    uint64_t where = space->next;
    bool fits = room <= (space == &shared_space ? USER_SHARED_END : USER_SHARED) - where;
    space->next += fits ? room : 0;
    lock_drop(&space->lock);
    while (fits && done < pages && vm_map_zeroed(space, where + done * PAGE_SIZE) != 0)
        if (++done % BATCH_PAGES == 0)
            thread_breathe();
    if (done == pages)
        return where;
    vm_unmap(space, where, done * PAGE_SIZE);
    lock_take(&space->lock);
    if (space->next == where + room)
        space->next = where;
    lock_drop(&space->lock);
    return 0;
}

// Clears one batch of entries from *where on and collects their pages. True: the range is done.
static bool clear_entries(struct address_space *space, uint64_t *where, uint64_t end, uint64_t *pages,
                          unsigned *count) {
    uint64_t left = (end - *where) / PAGE_SIZE;
    uint64_t stop = left < BATCH_LOOKS ? end : *where + BATCH_LOOKS * PAGE_SIZE;
    lock_take(&space->lock);
    for (; *where < stop && *count < BATCH_PAGES; *where += PAGE_SIZE) {
        uint64_t *entry = entry_of(space, *where, false);
        if (entry == NULL || !(*entry & PTE_PRESENT))
            continue;
        pages[(*count)++] = *entry & PTE_ADDRESS;
        *entry = 0;
    }
    lock_drop(&space->lock);
    return *where >= end;
}

// Clears the entries, then flushes the other CPUs' TLBs, then frees: no CPU can reach a page that is free.
int vm_unmap(struct address_space *space, uint64_t where, uint64_t bytes) {
    uint64_t low = space == &shared_space ? USER_SHARED : USER_PRIVATE;
    uint64_t end = where + bytes;
    if (where % PAGE_SIZE || bytes % PAGE_SIZE || end < where || where < low || end > space->next)
        return -RING_EINVAL;
    bool done = false;
    while (!done) {
        uint64_t pages[BATCH_PAGES];
        unsigned count = 0;
        done = clear_entries(space, &where, end, pages, &count);
        if (count != 0 && fault_is(FAULT_SKIP_SHOOTDOWN))
            write_cr3(read_cr3());
        else if (count != 0)
            tlb_shoot(space);
        while (count != 0)
            page_give(pages[--count]);
        if (!done)
            thread_breathe();
    }
    return 0;
}

// Stacks (the part of a slot after its guard page) and the image's zeroed data are mapped on first use.
static bool fills_in(const struct address_space *space, uint64_t where) {
    if (where >= space->zero_from && where < space->zero_to)
        return true;
    uint64_t slot = where >= USER_THREADS ? USER_THREADS : USER_MAIN_SLOT;
    uint64_t end = slot + (slot == USER_MAIN_SLOT ? 1 : space->slots) * RING_SLOT_BYTES;
    return where >= slot && where < end && where % RING_SLOT_BYTES >= RING_STACK_OFFSET;
}

bool vm_fault(struct address_space *space, uint64_t where) {
    where &= ~(uint64_t)(PAGE_SIZE - 1);
    lock_take(&space->lock);
    bool done = false;
    if (fills_in(space, where)) {
        uint64_t *entry = entry_of(space, where, false);
        // Two threads may fault on one page: the second finds it mapped.
        done = (entry != NULL && (*entry & PTE_PRESENT)) || put_zeroed(space, where);
    }
    lock_drop(&space->lock);
    return done;
}

uint64_t vm_translate(struct address_space *space, uint64_t where, bool write) {
    if (where >= USER_END)
        return 0;
    uint64_t need = PTE_PRESENT | PTE_USER | (write ? PTE_WRITE : 0);
    const uint64_t *entry = entry_of(space, where, false);
    uint64_t value = entry ? __atomic_load_n(entry, __ATOMIC_ACQUIRE) : 0;
    return (value & need) == need ? (value & PTE_ADDRESS) | (where & (PAGE_SIZE - 1)) : 0;
}

bool vm_copy_in(struct address_space *space, void *to, uint64_t from, size_t bytes) {
    char *kernel = to;
    while (bytes != 0) {
        size_t part = PAGE_SIZE - from % PAGE_SIZE;
        if (part > bytes)
            part = bytes;
        uint64_t physical = vm_translate(space, from, false);
        if (physical == 0)
            return false;
        memcpy(kernel, at(physical), part);
        from += part;
        kernel += part;
        bytes -= part;
    }
    return true;
}

uint64_t vm_kernel_stack(unsigned n) {
    uint64_t bytes = KERNEL_STACK_PAGES * PAGE_SIZE, top = STACKS_BASE + (n + 1) * 2 * bytes;
    lock_take(&kernel_space.lock);
    for (uint64_t where = top - bytes; where < top; where += PAGE_SIZE) {
        uint64_t *entry = entry_of(&kernel_space, where, true);
        uint64_t page = entry == NULL || (*entry & PTE_PRESENT) ? 0 : page_take();
        if (page != 0)
            *entry = page | PTE_PRESENT | PTE_WRITE | PTE_GLOBAL | page_nx;
        else if (entry == NULL || !(*entry & PTE_PRESENT))
            top = 0; // out of memory: the pages that are mapped serve the next attempt
    }
    lock_drop(&kernel_space.lock);
    return top;
}
