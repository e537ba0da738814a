// Address spaces: four-level page tables, one per process, with a common kernel half. One more address space
// holds the memory that all processes share: its tables are below the same PML4 entry of each process.
//
// Takes the vm lock (private memory) or the shared lock, then the pages lock. Not called by interrupt
// handlers, except for page faults in user mode.
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
#define PTE_BORROWED 0x200ul // software bit: the space does not own the page
#define PTE_NX (1ul << 63)
#define PTE_ADDRESS 0x000ffffffffff000ul

struct cpu;

struct address_space {
    uint64_t root;               // physical address of the PML4
    _Atomic uint64_t cpus;       // those that may hold translations; a CPU sets and clears its own bit
    struct lock lock;            // guards all below, and the tables
    uint64_t next;               // where the next map operation starts
    uint64_t zero_from, zero_to; // the image's zeroed data, mapped on first use
    unsigned slots;              // slots of other threads, in use or not
};

extern struct address_space shared_space;
extern uint64_t page_nx; // PTE_NX if the CPU supports it, else 0

void vm_init(void);     // once: access rights of the kernel's pages, the shared space
void vm_cpu_init(void); // each CPU: loads the kernel's page table; PGE, SMEP, SMAP
bool vm_create(struct address_space *space);
void vm_destroy(struct address_space *space); // its process has no thread left

void vm_enter(struct cpu *cpu, struct address_space *space); // loads CR3 if needed
void vm_leave(struct cpu *cpu);

// rights: PTE_WRITE, PTE_NX, PTE_BORROWED. False: out of memory, or the address is already mapped.
bool vm_map_page(struct address_space *space, uint64_t where, uint64_t page, uint64_t rights);
uint64_t vm_map_zeroed(struct address_space *space, uint64_t where); // a new page; 0: out of memory
uint64_t vm_map(struct address_space *space, uint64_t bytes);        // zeroed; 0: out of memory
int vm_unmap(struct address_space *space, uint64_t where, uint64_t bytes);
bool vm_fault(struct address_space *space, uint64_t where); // page fault; true: the page is mapped now
// The physical address of a user address; 0 if it is not mapped (or not writable). It stays valid until the
// caller waits for anything: an unmapped page is freed only after this CPU has answered the shootdown. Takes no
// lock: every park and every wake-up comes through here.
uint64_t vm_translate(struct address_space *space, uint64_t where, bool write);
bool vm_copy_in(struct address_space *space, void *to, uint64_t from, size_t bytes);

// Kernel stack number n, mapped on first use; returns its top, 0 if out of memory.
uint64_t vm_kernel_stack(unsigned n);

#endif
