// TLB shootdown. A CPU that removes translations calls tlb_shoot after it has cleared the entries and before
// it frees the pages. Each CPU has a mailbox of two numbers: asked (initiators add one) and done (the owner
// copies `asked` to it after it has flushed all non-global translations). A CPU that waits for others, or for
// a lock, serves its own mailbox meanwhile, so two initiators cannot block each other.
#ifndef ARCH_TLB_H
#define ARCH_TLB_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/percpu.h"

struct address_space;

void tlb_flush_here(void); // flushes and answers; called by tlb_serve

static inline void tlb_serve(void) {
    struct cpu *cpu = this_cpu();
    // acquire: pairs with the release of the initiator's addition, so its cleared entries are visible
    if (atomic_load_explicit(&cpu->tlb_asked, memory_order_acquire) !=
        atomic_load_explicit(&cpu->tlb_done, memory_order_relaxed))
        tlb_flush_here();
}

// Flushes here and on every CPU that may hold translations of the space. No lock of the queue class or
// later may be held.
void tlb_shoot(struct address_space *space);

#endif
