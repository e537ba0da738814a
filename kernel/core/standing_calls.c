#include "core/standing.h"

#include "arch/tlb.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/fault.h"
#include "core/image.h"
#include "core/process.h"
#include "core/thread.h"
#include "core/thread_switch.h"
#include "core/timer.h"
#include "core/vm.h"
#include "ring/abi.h"
#include "ring/ring.h"
#include "ring/sleep.h"
#include "sched/choose.h"
#include "sched/common.h"

FAULT_COPY static uint64_t us_or(uint64_t us) {
    return fault_value ? fault_value : us;
}

// fault=slow-return:N: each way back to a program takes N us (40) more, in a loop that waits.
FAULT_COPY void thread_reschedule_slow(void) {
    if (this_cpu()->reschedule)
        thread_yield();
    delay_us(us_or(40));
}

// fault=slow-count:N: there it computes something that nobody needs, for 40 us.
FAULT_COPY void thread_reschedule_counting(void) {
    if (this_cpu()->reschedule)
        thread_yield();
    compute_for(us_or(40));
}

// fault=slow-switch:N: each choice of the next thread takes N us (20) more.
FAULT_COPY struct thread *thread_choose_slow(struct cpu *cpu, bool search) {
    delay_us(us_or(20));
    return standing_chosen(cpu, search);
}

// fault=halt-return:N: one way back to a program in N (50) halts the CPU for 200 us, with the program's thread.
FAULT_COPY void thread_reschedule_halted(void) {
    if (this_cpu()->reschedule)
        thread_yield();
    if (sched_is_hit(50))
        halt_for(200);
}

// fault=halt-poke: the handler of the interrupt with which CPUs ask each other to look at their queues halts for 200 us.
FAULT_COPY void thread_poked_halted(void) {
    halt_for(200);
    this_cpu()->reschedule = true;
}

// fault=queue-lock: that handler has the lock of its CPU's queue for 200 us, so nobody else can take a thread from it.
FAULT_COPY void thread_poked_locked(void) {
    struct cpu *cpu = this_cpu();
    lock_take(&sched_queues[cpu->index].lock);
    delay_us(200);
    lock_drop(&sched_queues[cpu->index].lock);
    cpu->reschedule = true;
}

// fault=late-begin: a new thread, which has executed nothing yet, spins for 300 us before its program begins. Nothing
// tells it from a thread of the kernel.
FAULT_COPY void process_begin_late(struct thread *thread) {
    delay_us(300);
    if (!(thread->user_slot == 0 ? image_load(thread) : image_add_slot(thread)))
        process_kill(RING_VECTOR_NONE, 0, 0, "no-memory");
    if (this_cpu()->space != &thread->process->space)
        vm_enter(this_cpu(), &thread->process->space);
    process_check_asked();
}

// fault=parked: an idle CPU other than the first one is parked for 400 us before it looks, each fourth time.
FAULT_COPY void thread_idle_parked(void) {
    for (;;) {
        if (this_cpu()->index != 0 && sched_is_hit(4))
            halt_for(400);
        standing_look(this_cpu());
    }
}

// fault=poll-idle: an idle CPU takes interrupts for 100 us, without a look at a queue, whoever asks it to.
FAULT_COPY void thread_idle_polling(void) {
    for (;;) {
        for (uint64_t until = now() + 100 * cycles_per_us; now() < until;) {
            tlb_serve();
            irq_on_for_a_moment();
        }
        standing_look(this_cpu());
    }
}

// fault=late-steal: one thread in N (3) that a CPU takes from another one's queue is in no queue for 300 us.
FAULT_COPY struct sched_entity *sched_search_dropping(unsigned cpu) {
    uint64_t waiting = atomic_load_explicit(&sched_cpus.waiting, memory_order_relaxed) & ~(1ul << cpu);
    for (; waiting != 0; waiting &= waiting - 1) {
        struct sched_queue *queue = &sched_queues[__builtin_ctzl(waiting)];
        if (!lock_try(&queue->lock, cpu))
            continue;
        struct sched_entity *entity = queue_take(queue);
        lock_drop(&queue->lock);
        if (entity != NULL && sched_is_hit(3))
            delay_us(300);
        if (entity != NULL)
            return entity;
    }
    return NULL;
}

// fault=private-list: whom a CPU wakes or starts, it keeps for itself until it chooses its next thread.
static struct thread *kept[MAX_CPUS]; // by CPU, the last one first; changed by that CPU with interrupts off

FAULT_COPY void thread_ready_kept(struct thread *thread, enum sched_why why) {
    struct cpu *cpu = this_cpu();
    (void)why;
    while (atomic_load_explicit(&thread->on_cpu, memory_order_acquire)) {
        tlb_serve();
        pause();
    }
    thread_account(thread, THREAD_RUNNABLE, now());
    thread->next = kept[cpu->index];
    kept[cpu->index] = thread;
}

FAULT_COPY struct thread *thread_choose_kept(struct cpu *cpu, bool search) {
    while (kept[cpu->index] != NULL) {
        struct thread *thread = kept[cpu->index];
        kept[cpu->index] = thread->next;
        sched->enqueue(cpu->index, &thread->entity, SCHED_WAKE);
    }
    return standing_chosen(cpu, search);
}

FAULT_COPY void sleep_for(uint64_t us) {
    sleep_until(now() + us * cycles_per_us, &(struct ring_wait){.allowed = true});
}

// fault=sleepy-return: one way back to a program in N (20) is a sleep of 1 ms.
FAULT_COPY void thread_reschedule_asleep(void) {
    if (this_cpu()->reschedule)
        thread_yield();
    else if (sched_is_hit(20))
        sleep_for(1000);
}

// fault=sleepy-yield: one yield in N (3) is a sleep of 300 us.
FAULT_COPY void thread_yield_asleep(void) {
    struct cpu *cpu = this_cpu();
    bool asked = cpu->reschedule; // by its tick, or by another CPU
    cpu->reschedule = false;
    if (!asked && sched_is_hit(3)) {
        sleep_for(300);
        return;
    }
    struct thread *next = standing_chosen(cpu, false);
    if (next != NULL)
        thread_switch(next, true);
    else
        timer_slice(now() + 1000 * cycles_per_us);
}
