#include "core/thread.h"

#include "arch/lapic.h"
#include "arch/tlb.h"
#include "arch/trap.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/fault.h"
#include "core/print.h"
#include "core/process.h"
#include "core/thread_switch.h"
#include "core/timer.h"
#include "core/vm.h"
#include "measure/measure.h"
#include "ring/abi.h"
#include "sched/choose.h"

static struct thread idle_threads[MAX_CPUS];

static struct thread *of(struct sched_entity *entity) {
    return (struct thread *)((char *)entity - __builtin_offsetof(struct thread, entity));
}

// ---- time accounting

// Charges this CPU's time until now to the current thread; from now on it belongs to `next`. A reader of
// another CPU's counters (take_border in measure/measure.c) retries while `version` is odd or changes. The
// clock is read between the two changes, so a snapshot is never later than the charge that follows it.
static uint64_t charge(struct cpu *cpu, const struct thread *next) {
    if (measure_on) {
        atomic_fetch_add_explicit(&cpu->books.version, 1, memory_order_seq_cst);
        fence_loads(); // the clock is read after the change is visible
    }
    uint64_t t = now(), used = t - cpu->books.until;
    struct thread *thread = cpu->current;
    cpu->books.until = t;
    cpu->books.idle = next == cpu->idle;
    thread->entity.ran += used;
    if (thread == cpu->idle)
        cpu->count.idle_cycles += used;
    else
        cpu->count.busy_cycles += used;
    if (thread->process != NULL && thread->process->orphan)
        cpu->count.foreign_cycles += used;
    if (measure_on) // release: pairs with the acquire in take_border
        atomic_fetch_add_explicit(&cpu->books.version, 1, memory_order_release);
    return t;
}

uint64_t thread_cycles(void) {
    charge(this_cpu(), current());
    return current()->entity.ran;
}

// ---- switching

// Attribution takes a sample at each tick, so it uses the short slice.
static uint64_t slice_us(const struct cpu *cpu) {
    return measure_on || sched->waiting(cpu->index) ? SLICE_SHARED_US : SLICE_ALONE_US;
}

static void slice_begin(struct cpu *cpu, uint64_t t) {
    timer_slice(t + slice_us(cpu) * cycles_per_us);
}

static void send_reschedule(struct cpu *from, unsigned to) {
    uint64_t sent = from->count.resched_sent + 1;
    if (fault_is(FAULT_DROP_IPI) && fault_is_nth(sent + from->count.resched_dropped)) {
        from->count.resched_dropped++;
        return;
    }
    from->count.resched_sent = sent;
    lapic_send(cpus[to].apic_id, VECTOR_RESCHEDULE);
}

// A thread was just queued on a CPU that has other work: wakes an idle CPU, if there is one, to take it.
static bool offer(unsigned near) {
    struct cpu *cpu = this_cpu();
    // seq_cst, with halt_unless_needed: either that CPU sees the thread in the queue, or its bit is seen here
    atomic_thread_fence(memory_order_seq_cst);
    int idle = sched_claim_idle(near);
    if (idle >= 0 && (unsigned)idle != cpu->index) // else this CPU's idle loop finds the thread
        send_reschedule(cpu, (unsigned)idle);
    return idle >= 0;
}

// Runs on the new thread's stack and finishes the switch for the previous thread.
static void finish_switch(void) {
    struct cpu *cpu = this_cpu();
    struct thread *before = cpu->before;
    bool requeue = cpu->requeue;
    bool dead = before->state == THREAD_DEAD;
    // release: pairs with the acquire in settle; the stack is free
    atomic_store_explicit(&before->on_cpu, false, memory_order_release);
    if (requeue) {
        sched->enqueue(cpu->index, &before->entity, SCHED_PREEMPTED);
        offer(cpu->index);
    } else if (dead) {
        process_bury(before);
    }
}

// `inline`, because with -O3 (the fast profile) it is then still inlined into thread_yield.
inline void thread_switch(struct thread *next, bool requeue) {
    struct cpu *cpu = this_cpu();
    struct thread *before = cpu->current;
    // The thread has one owner and runs on one CPU only: it is in no queue, and its stack is free.
    assert(next == cpu->idle || (next->state == THREAD_RUNNABLE && next->entity.queue == NULL));
    assert(!atomic_load_explicit(&next->on_cpu, memory_order_relaxed));
    uint64_t t = charge(cpu, next);
    if (fault_is(FAULT_PANIC) && next != cpu->idle && cpu->index == fault_value)
        panic("why=fault");
    if (requeue)
        thread_account(before, THREAD_RUNNABLE, t);
    thread_account(next, THREAD_RUNNING, t);
    cpu->count.switches++;
    if (next != cpu->idle) {
        cpu->count.migrations += next->ran_on != 0 && next->ran_on != cpu->index + 1;
        next->ran_on = cpu->index + 1;
        next->entity.cpu = cpu->index;
        if (next->process->space.root != 0) // else process_begin has yet to build it
            vm_enter(cpu, &next->process->space);
        else
            vm_leave(cpu);
        slice_begin(cpu, t);
    } else {
        cpu->slice_end = 0;
    }
    cpu->before = before;
    cpu->requeue = requeue;
    cpu->current = next;
    cpu->kernel_stack = cpu->tss.stack[0] = next->stack_top;
    atomic_store_explicit(&next->on_cpu, true, memory_order_relaxed);
    switch_stacks(&before->stack, next->stack);
    finish_switch();
}

// Only a CPU that would otherwise idle searches the queues of other CPUs.
struct thread *thread_choose(struct cpu *cpu, bool search) {
    uint64_t t = measure_on ? now() : 0;
    cpu->count.picks++;
    struct sched_entity *entity = sched->pick(cpu->index);
    if (entity == NULL && search)
        entity = sched->steal(cpu->index);
    if (measure_on)
        cpu->count.pick_cycles += now() - t;
    return entity ? of(entity) : NULL;
}

void thread_yield(void) {
    struct cpu *cpu = this_cpu();
    cpu->reschedule = false;
    uint64_t t = charge(cpu, cpu->current);
    struct thread *next = thread_choose(cpu, false);
    if (next != NULL)
        thread_switch(next, true);
    else
        slice_begin(cpu, t);
}

void thread_reschedule(void) {
    if (this_cpu()->reschedule)
        thread_yield();
}

void thread_breathe(void) {
    irq_on_for_a_moment();
    thread_reschedule();
}

// Charges the running thread and asks the policy whether another one should run.
static uint64_t review(struct cpu *cpu) {
    uint64_t t = charge(cpu, cpu->current);
    if (sched->tick(cpu->index, &cpu->current->entity))
        cpu->reschedule = true;
    return t;
}

// A slice that began while no other thread waited is long. A thread that is woken does not wait for its end.
static uint64_t shared_end(uint64_t t) {
    return t + SLICE_SHARED_US * cycles_per_us;
}
static bool too_long(const struct cpu *cpu, uint64_t t) {
    return __atomic_load_n(&cpu->slice_end, __ATOMIC_RELAXED) > shared_end(t);
}

// The sender expected this CPU to be idle, due for preemption, or in too long a slice. A CPU that has found
// work meanwhile passes the request on: for each waiting thread an idle CPU, if there is one, has been asked.
void thread_poked(void) {
    struct cpu *cpu = this_cpu();
    if (cpu->current == cpu->idle) {
        cpu->reschedule = true;
        return;
    }
    uint64_t t = review(cpu);
    if (too_long(cpu, t))
        timer_slice(shared_end(t));
    if (sched_any_waiting())
        offer(cpu->index);
}

void thread_tick(void) {
    struct cpu *cpu = this_cpu();
    if (cpu->current == cpu->idle) {
        cpu->slice_end = 0;
        return;
    }
    uint64_t t = review(cpu);
    cpu->slice_end = t + slice_us(cpu) * cycles_per_us;
}

// ---- waking

// A thread that has just blocked may still be on its stack, leaving its CPU. Its waker waits until the stack
// is free, before any CPU can pick the thread.
static void settle(struct thread *thread) {
    uint64_t limit = now() + SPIN_LIMIT_MS * 1000 * cycles_per_us;
    // acquire: pairs with the release in finish_switch
    while (atomic_load_explicit(&thread->on_cpu, memory_order_acquire)) {
        tlb_serve();
        pause();
        if (CONFIG_DEBUG && now() > limit)
            panic("why=switch-deadline waits_for=%u", thread->entity.cpu);
    }
}

// A woken thread was queued on a CPU whose thread may have to give way. A new thread waits its turn: its
// parent mostly waits for it anyway, and has work to do before that. What is read of another CPU is a hint.
static void press(struct cpu *cpu, unsigned to, const struct thread *woken) {
    struct thread *there = cpus[to].current;
    uint64_t t = now(), until = __atomic_load_n(&cpus[to].books.until, __ATOMIC_RELAXED);
    if (there == cpus[to].idle)
        return;
    bool due = sched->preempts(&woken->entity, &there->entity, t > until ? t - until : 0);
    if (!due && !too_long(&cpus[to], t))
        return;
    if (to != cpu->index)
        send_reschedule(cpu, to);
    else if (due)
        cpu->reschedule = true;
    else
        timer_slice(shared_end(t));
}

void thread_ready(struct thread *thread, enum sched_why why) {
    struct cpu *cpu = this_cpu();
    settle(thread);
    thread_account(thread, THREAD_RUNNABLE, now());
    bool claimed = false;
    unsigned to = sched->wake_cpu(&thread->entity, cpu->index, &claimed);
    sched->enqueue(to, &thread->entity, why);
    unsigned depth = sched->waiting(to);
    if (depth > cpu->count.queue_depth_max)
        cpu->count.queue_depth_max = depth;
    if (claimed) {
        if (to != cpu->index) // else this CPU's idle loop finds the thread
            send_reschedule(cpu, to);
        return;
    }
    if (!offer(to) && why == SCHED_WAKE)
        press(cpu, to, thread);
}

void thread_start(struct thread *thread) {
    thread_ready(thread, SCHED_NEW);
}

void thread_expire(struct thread *thread, uint64_t count) {
    wait_end(thread, -RING_ETIMEDOUT, &count, NULL);
}

static void make_it_look(const struct thread *thread) {
    unsigned cpu = thread->entity.cpu;
    if (cpu != this_cpu()->index && cpus[cpu].current == thread)
        send_reschedule(this_cpu(), cpu);
}

void thread_interrupt(struct thread *thread, const struct lock *held) {
    atomic_store_explicit(&thread->asked, THREAD_KILLED, memory_order_seq_cst);
    wait_end(thread, -RING_EINTR, NULL, held);
    make_it_look(thread);
}

void thread_stop(struct thread *thread) {
    atomic_fetch_or_explicit(&thread->asked, THREAD_STOPPED, memory_order_seq_cst);
    make_it_look(thread);
}

// ---- start and end

void thread_setup(struct thread *thread, struct process *process, uint64_t weight, unsigned latency) {
    uint64_t t = now();
    struct cpu *cpu = this_cpu();
    uint64_t top = thread->stack_top;
    unsigned slot = thread->slot;
    uint64_t waits = thread->wait_count;
    *thread = (struct thread){.process = process, .slot = slot, .stack_top = top, .wait_count = waits};
    thread->entity.weight = (uint32_t)weight;
    thread->entity.latency = (uint8_t)latency;
    thread->entity.cpu = cpu->index;
    thread->state = THREAD_RUNNABLE;
    thread->since = thread->born = t;
    uint64_t *stack = (uint64_t *)top;
    *--stack = 0; // alignment
    *--stack = (uint64_t)thread_first;
    for (unsigned i = 0; i < 6; i++)
        *--stack = 0;
    thread->stack = (uint64_t)stack;
}

void thread_begin(void) {
    finish_switch();
    struct thread *me = current();
    process_begin(me);
    enter_user(me->entry, me->user_stack, me->argument[0], me->argument[1]);
}

void thread_close_books(void) {
    struct thread *me = current();
    me->died = now();
    thread_account(me, THREAD_DEAD, me->died);
    measure_thread_ended(me);
}

void thread_end(void) {
    thread_leave();
    panic("why=dead-thread-runs");
}

void thread_idle_init(unsigned index) {
    struct cpu *cpu = &cpus[index];
    struct thread *idle = &idle_threads[index];
    idle->entity = (struct sched_entity){.weight = 1, .cpu = index};
    idle->state = THREAD_RUNNING;
    idle->since = cpu->books.until = now();
    cpu->books.idle = true;
    atomic_store_explicit(&idle->on_cpu, true, memory_order_relaxed);
    cpu->idle = cpu->current = idle;
}

// fault=crowd: in the place of sched_any_waiting. What waits is for one CPU, and the others must halt. If they
// looked for it again and again, with interrupts off, they would set and clear their bits in sched_cpus.idle
// without end, and sched_claim_idle on the one CPU may then find each bit cleared again before it has it.
FAULT_COPY bool crowd_any_waiting(void) {
    bool mine = this_cpu()->index == fault_value % cpu_count;
    // seq_cst: as in sched_any_waiting
    return mine && atomic_load_explicit(&sched_cpus.waiting, memory_order_seq_cst) != 0;
}

// fault=half: as above, with the queues of this CPU's half.
FAULT_COPY bool half_any_waiting(void) {
    // seq_cst: as in sched_any_waiting
    return (atomic_load_explicit(&sched_cpus.waiting, memory_order_seq_cst) & sched_half(this_cpu()->index)) != 0;
}

// No CPU halts while a thread waits in a queue. Its bit in sched_cpus.idle says that a CPU halts, or will
// check all queues before it does. Setting the bit and then reading the queues is seq_cst here, as are the
// enqueue and then the read of the bits in offer: at least one side sees the other. An interrupt that arrives
// between the check and hlt stays pending until sti, and ends the halt.
static void halt_unless_needed(struct cpu *cpu) {
    uint64_t bit = 1ul << cpu->index;
    atomic_fetch_or_explicit(&sched_cpus.idle, bit, memory_order_seq_cst);
    if (sched_any_waiting())
        pause(); // the search is bounded and skips queues that are locked: search again
    else if (fault_is(FAULT_IDLE_SPIN))
        irq_on_for_a_moment();
    else
        irq_on_and_halt();
    atomic_fetch_and_explicit(&sched_cpus.idle, ~bit, memory_order_relaxed);
}

void thread_idle(void) {
    struct cpu *cpu = this_cpu();
    for (;;) {
        tlb_serve();
        struct thread *next = thread_choose(cpu, true);
        cpu->reschedule = false;
        if (next != NULL)
            thread_switch(next, false);
        // The thread that switched back here found no work a moment ago (thread_leave); halt_unless_needed
        // sees what was queued since.
        halt_unless_needed(cpu);
    }
}
