// Requests are counted instead of listing pages. The idea is that of FreeBSD's smp_tlb generation, in a
// simpler form.
#include "arch/tlb.h"

#include "arch/lapic.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/print.h"
#include "core/thread.h"
#include "core/vm.h"

void tlb_flush_here(void) {
    struct cpu *cpu = this_cpu();
    // acquire: pairs with the release of the addition in tlb_shoot; entries cleared before it are flushed
    // here
    uint64_t asked = atomic_load_explicit(&cpu->tlb_asked, memory_order_acquire);
    if (cpu->current == cpu->idle && cpu->space != NULL)
        vm_leave(cpu); // an idle CPU drops the address space, and is not asked again
    else
        write_cr3(read_cr3());
    cpu->count.shootdown_acks++;
    // release: pairs with the acquire in wait_for; the flush is complete
    atomic_store_explicit(&cpu->tlb_done, asked, memory_order_release);
}

static void wait_for(unsigned target, uint64_t ticket) {
    uint64_t limit = now() + SPIN_LIMIT_MS * 1000 * cycles_per_us;
    // acquire: pairs with the release at the end of tlb_flush_here
    while (atomic_load_explicit(&cpus[target].tlb_done, memory_order_acquire) < ticket) {
        tlb_serve();
        pause();
        if (CONFIG_DEBUG && now() > limit)
            panic("why=tlb-deadline waits_for=%u", target);
    }
}

void tlb_shoot(struct address_space *space) {
    struct cpu *cpu = this_cpu();
    uint64_t ticket[MAX_CPUS];
    // seq_cst, with vm_enter: either this CPU sees the other's bit, or the other loads the new entries
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t targets = atomic_load_explicit(&space->cpus, memory_order_seq_cst) & ~(1ul << cpu->index);
    if (cpu->space == space || space == &shared_space)
        write_cr3(read_cr3());
    if (targets == 0)
        return;
    cpu->count.shootdowns++;
    for (uint64_t left = targets; left; left &= left - 1) {
        unsigned t = (unsigned)__builtin_ctzl(left);
        // release: pairs with the acquires in tlb_serve and tlb_flush_here
        ticket[t] = 1 + atomic_fetch_add_explicit(&cpus[t].tlb_asked, 1, memory_order_release);
        lapic_send(cpus[t].apic_id, VECTOR_TLB);
    }
    for (uint64_t left = targets; left; left &= left - 1) {
        unsigned t = (unsigned)__builtin_ctzl(left);
        wait_for(t, ticket[t]);
    }
}
