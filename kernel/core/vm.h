// Address spaces: four-level page tables, one per process, the kernel's half in common. One further space
// stands for the memory that all processes share: its page tables hang below the same entry of each.
// Takes the vm lock (private) or the shared lock, then the pages lock. Not in interrupt handlers, but for
// page faults from user mode.
#ifndef CORE_VM_H
#define CORE_VM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/alloc.h"
#include "core/lock.h"

#define PTE_PRESENT 0x001ul
#define PTE_WRITE 0x002ul
#define PTE_USER 0x004ul
#define PTE_LARGE 0x080ul
#define PTE_GLOBAL 0x100ul
#define PTE_BORROWED 0x200ul // ours: the page belongs to somebody else
#define PTE_NX (1ul << 63)
#define PTE_ADDRESS 0x000ffffffffff000ul

struct cpu;

struct address_space {
    uint64_t root;               // physical address of the PML4
    _Atomic uint64_t cpus;       // those that may hold translations; a CPU sets and clears its own bit
    struct lock lock;            // guards all below, and the tables
    uint64_t next;               // where the map operation goes on
    uint64_t zero_from, zero_to; // the image's zeroed data, filled in page by page
    unsigned slots;              // slots of further threads, in use or not
};

extern struct address_space shared_space;
extern uint64_t page_nx; // PTE_NX where the CPU has it

void vm_init(void);     // once: rights of the kernel's own pages, the shared space
void vm_cpu_init(void); // each CPU: onto the kernel's table; PGE, SMEP, SMAP
bool vm_create(struct address_space *space);
void vm_destroy(struct address_space *space); // no thread of it is left

void vm_enter(struct cpu *cpu, struct address_space *space); // loads CR3 if it must
void vm_leave(struct cpu *cpu);

// rights: PTE_WRITE, PTE_NX, PTE_BORROWED. False: no memory, or something is there.
bool vm_map_page(struct address_space *space, uint64_t where, uint64_t page, uint64_t rights);
uint64_t vm_map_zeroed(struct address_space *space, uint64_t where); // a new page; 0: no memory
uint64_t vm_map(struct address_space *space, uint64_t bytes);        // zeroed; 0: no memory
int vm_unmap(struct address_space *space, uint64_t where, uint64_t bytes);
bool vm_fault(struct address_space *space, uint64_t where); // page fault; true: filled in
// The page behind a user address, 0 if there is none (or none writable). It stays until the caller waits for
// something: who unmaps it frees it only when this CPU has answered the shootdown.
uint64_t vm_translate(struct address_space *space, uint64_t where, bool write);
bool vm_copy_in(struct address_space *space, void *to, uint64_t from, size_t bytes);

// Kernel stack number n, mapped the first time; returns its top, 0 without memory.
uint64_t vm_kernel_stack(unsigned n);

#endif
