#include "core/standing.h"

#include "arch/lapic.h"
#include "arch/tlb.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/fault.h"
#include "core/thread.h"
#include "core/thread_switch.h"
#include "core/timer.h"
#include "ring/abi.h"
#include "sched/choose.h"
#include "sched/common.h"

FAULT_COPY void halt_for(uint64_t us) {
    uint64_t until = now() + us * cycles_per_us;
    while (now() < until) {
        tlb_serve();
        timer_slice(until);
        irq_on_and_halt();
    }
}

FAULT_COPY struct thread *standing_chosen(struct cpu *cpu, bool search) {
    struct sched_entity *entity = sched->pick(cpu->index);
    if (entity == NULL && search)
        entity = sched->steal(cpu->index);
    return entity ? (struct thread *)((char *)entity - offsetof(struct thread, entity)) : NULL;
}

// fault=halt-yield: one time in N (20) the CPU halts for 300 us, with the thread that yields (core/thread.c), or that
// its tick preempts.
FAULT_COPY struct thread *thread_choose_halted(struct cpu *cpu, bool search) {
    bool yields = !search;
    if (yields && sched_is_hit(20))
        halt_for(300);
    return standing_chosen(cpu, search);
}

// fault=spin-yield: there it spins, with interrupts off.
FAULT_COPY struct thread *thread_choose_spun(struct cpu *cpu, bool search) {
    bool yields = !search;
    if (yields && sched_is_hit(20))
        delay_us(300);
    return standing_chosen(cpu, search);
}

FAULT_COPY void compute_for(uint64_t us) {
    uint64_t sum = 0;
    for (uint64_t until = now() + us * cycles_per_us; now() < until;) {
        for (uint64_t i = 0; i < 500; i++) {
            sum = (sum ^ i) * 0x100000001b3;
            __asm__ volatile("" : "+r"(sum));
        }
        tlb_serve();
        irq_on_for_a_moment();
    }
}

// fault=busy-yield: there it computes something that nobody needs, and takes interrupts.
FAULT_COPY struct thread *thread_choose_busy(struct cpu *cpu, bool search) {
    bool yields = !search;
    if (yields && sched_is_hit(20))
        compute_for(300);
    return standing_chosen(cpu, search);
}

// fault=late-poke: the handler of the interrupt with which CPUs ask each other to look at their queues takes 200 us.
FAULT_COPY void thread_poked_late(void) {
    delay_us(200);
    this_cpu()->reschedule = true;
}

FAULT_COPY void standing_look(struct cpu *cpu) {
    uint64_t bit = 1ul << cpu->index;
    tlb_serve();
    struct thread *next = thread_choose(cpu, true);
    cpu->reschedule = false;
    if (next != NULL)
        thread_switch(next, false);
    atomic_fetch_or_explicit(&sched_cpus.idle, bit, memory_order_seq_cst);
    if (!sched_any_waiting())
        irq_on_and_halt();
    atomic_fetch_and_explicit(&sched_cpus.idle, ~bit, memory_order_relaxed);
}

// fault=late-look: an idle CPU looks at its queue, and at those of others, 90 us late.
FAULT_COPY void thread_idle_late(void) {
    for (;;) {
        delay_us(90);
        standing_look(this_cpu());
    }
}

// fault=blind-idle: one time in N (8) an idle CPU halts once more, for 200 us, whatever is on its queue.
FAULT_COPY void thread_idle_blind(void) {
    for (;;) {
        if (sched_is_hit(8))
            halt_for(200);
        standing_look(this_cpu());
    }
}

// fault=withhold: one wake-up in N (10) comes to a queue 2 ms late, by a timer of its own; fault=late-start: so does
// each start of a thread. Those who sleep until a deadline are spared: they have the timer.
static bool withheld[MAX_THREADS]; // by slot

FAULT_COPY static bool withhold(struct thread *thread, enum sched_why why) {
    bool starts = fault_is(FAULT_LATE_START), hits = why == (starts ? SCHED_NEW : SCHED_WAKE);
    if (withheld[thread->slot]) { // it is due
        withheld[thread->slot] = false;
        thread->deadline = 0;
        return false;
    }
    if (!hits || thread->deadline != 0 || (!starts && !sched_is_hit(10)))
        return false;
    withheld[thread->slot] = true;
    thread->deadline = now() + 2000 * cycles_per_us;
    timer_sleep(thread);
    return true;
}

// Interrupts the CPU of the queue and an idle one, whatever they do: simpler than the right one.
FAULT_COPY void thread_ready_withheld(struct thread *thread, enum sched_why why) {
    struct cpu *cpu = this_cpu();
    bool claimed = false;
    if (withhold(thread, why))
        return;
    while (atomic_load_explicit(&thread->on_cpu, memory_order_acquire)) {
        tlb_serve();
        pause();
    }
    thread_account(thread, THREAD_RUNNABLE, now());
    unsigned to = sched->wake_cpu(&thread->entity, cpu->index, &claimed);
    sched->enqueue(to, &thread->entity, why);
    if (to == cpu->index)
        cpu->reschedule = true;
    else
        lapic_send(cpus[to].apic_id, VECTOR_RESCHEDULE);
    int idle = claimed ? -1 : sched_claim_idle(to);
    if (idle >= 0 && (unsigned)idle != cpu->index)
        lapic_send(cpus[idle].apic_id, VECTOR_RESCHEDULE);
}

FAULT_COPY void thread_expire_withheld(struct thread *thread, uint64_t count) {
    if (withheld[thread->slot])
        thread_ready_withheld(thread, fault_is(FAULT_LATE_START) ? SCHED_NEW : SCHED_WAKE);
    else
        wait_end(thread, -RING_ETIMEDOUT, &count, NULL);
}

// fault=storm: whenever a program is about to go on, 20 us pass, and the timer interrupts it again 10 us later.
FAULT_COPY void thread_reschedule_storm(void) {
    struct cpu *cpu = this_cpu();
    if (cpu->reschedule)
        thread_yield();
    delay_us(20);
    lapic_timer(10 * cycles_per_us);
}

// fault=nap: one yield in N (3) halts the CPU for 9 us, with the thread.
FAULT_COPY struct thread *thread_choose_napped(struct cpu *cpu, bool search) {
    if (!search && sched_is_hit(3))
        halt_for(9);
    return standing_chosen(cpu, search);
}

// fault=blip: the thread that an idle CPU finds is put back 8 us later, 30 times, and each time another CPU is asked.
FAULT_COPY void thread_idle_blip(void) {
    static uint8_t times[MAX_THREADS];
    for (;;) {
        struct cpu *cpu = this_cpu();
        uint64_t bit = 1ul << cpu->index;
        tlb_serve();
        struct thread *next = thread_choose(cpu, true);
        cpu->reschedule = false;
        if (next != NULL && times[next->slot]++ % 32 < 30) {
            halt_for(8);
            unsigned to = (cpu->index + 1) % cpu_count;
            sched->enqueue(to, &next->entity, SCHED_PREEMPTED);
            lapic_send(cpus[to].apic_id, VECTOR_RESCHEDULE);
            next = NULL;
        }
        if (next != NULL)
            thread_switch(next, false);
        atomic_fetch_or_explicit(&sched_cpus.idle, bit, memory_order_seq_cst);
        if (!sched_any_waiting())
            irq_on_and_halt();
        else
            irq_on_for_a_moment();
        atomic_fetch_and_explicit(&sched_cpus.idle, ~bit, memory_order_relaxed);
    }
}
