#include "core/thread.h"

#include "arch/lapic.h"
#include "arch/tlb.h"
#include "arch/trap.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/fault.h"
#include "core/print.h"
#include "core/process.h"
#include "core/timer.h"
#include "core/vm.h"
#include "measure/measure.h"
#include "ring/abi.h"
#include "sched/choose.h"

static struct thread idle_threads[MAX_CPUS];

static struct thread *of(struct sched_entity *entity) {
    return (struct thread *)((char *)entity - __builtin_offsetof(struct thread, entity));
}

// ---- books

static void account(struct thread *thread, enum thread_state state, uint64_t t) {
    thread->spent[thread->state] += t - thread->since;
    thread->since = t;
    thread->state = state;
}

// Accounts for this CPU's time until now; from now on it goes to `next`. Who takes a snapshot of another CPU
// (measure.c) repeats it while `version` is odd or moves, and the time is read in between: so no snapshot can
// be of a later moment than the charge that follows it.
static uint64_t charge(struct cpu *cpu, const struct thread *next) {
    if (measure_on) {
        atomic_fetch_add_explicit(&cpu->books.version, 1, memory_order_seq_cst);
        fence_loads(); // the clock is read after that is out
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

// Attribution samples at each tick, so it asks for more of them.
static uint64_t slice_us(const struct cpu *cpu) {
    return measure_on || sched->waiting(cpu->index) ? SLICE_SHARED_US : SLICE_ALONE_US;
}

static void slice_begin(struct cpu *cpu, uint64_t t) {
    timer_slice(t + slice_us(cpu) * cycles_per_us);
}

static void send_reschedule(struct cpu *from, unsigned to) {
    if (fault_is(FAULT_DROP_IPI) && ++from->count.resched_sent % (fault_value ? fault_value : 1) == 0)
        return;
    from->count.resched_sent++;
    lapic_send(cpus[to].apic_id, VECTOR_RESCHEDULE);
}

// A thread has just come into a queue, and its CPU has something else to run: an idle CPU shall take it.
static bool offer(unsigned near) {
    struct cpu *cpu = this_cpu();
    // seq_cst, with thread_idle: that one sees the thread in the queue, or its bit is seen here
    atomic_thread_fence(memory_order_seq_cst);
    int idle = sched_claim_idle(near);
    if (idle >= 0 && (unsigned)idle != cpu->index) // else this is the idle loop's own CPU, on its way there
        send_reschedule(cpu, (unsigned)idle);
    return idle >= 0;
}

// Runs on the new thread's stack, for the one that ran before.
static void finish_switch(void) {
    struct cpu *cpu = this_cpu();
    struct thread *before = cpu->before;
    bool requeue = cpu->requeue;
    bool dead = before->state == THREAD_DEAD;
    // release: pairs with the acquire of settle(); the stack is left
    atomic_store_explicit(&before->on_cpu, false, memory_order_release);
    if (requeue) {
        sched->enqueue(cpu->index, &before->entity, SCHED_PREEMPTED);
        offer(cpu->index);
    } else if (dead) {
        process_bury(before);
    }
}

static void switch_to(struct thread *next, bool requeue) {
    struct cpu *cpu = this_cpu();
    struct thread *before = cpu->current;
    // One owner, and never on two CPUs: it came out of a queue, and nobody stands on its stack.
    assert(next == cpu->idle || (next->state == THREAD_RUNNABLE && next->entity.queue == NULL));
    assert(!atomic_load_explicit(&next->on_cpu, memory_order_relaxed));
    uint64_t t = charge(cpu, next);
    if (fault_is(FAULT_PANIC) && next != cpu->idle && cpu->index == fault_value)
        panic("why=fault");
    if (requeue)
        account(before, THREAD_RUNNABLE, t);
    account(next, THREAD_RUNNING, t);
    cpu->count.switches++;
    if (next != cpu->idle) {
        cpu->count.migrations += next->ran_on != 0 && next->ran_on != cpu->index + 1;
        next->ran_on = cpu->index + 1;
        next->entity.cpu = cpu->index;
        if (next->process->space.root != 0) // else it has yet to be built, by process_begin
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

// Only a CPU that would go idle looks into the queues of others.
static struct thread *choose(struct cpu *cpu, bool search) {
    uint64_t t = measure_on ? now() : 0;
    cpu->count.picks++;
    struct sched_entity *entity = sched->pick(cpu->index);
    if (entity == NULL && search)
        entity = sched->steal(cpu->index);
    if (measure_on)
        cpu->count.pick_cycles += now() - t;
    return entity ? of(entity) : NULL;
}

// The caller is BLOCKED or DEAD.
static void leave(void) {
    struct cpu *cpu = this_cpu();
    cpu->reschedule = false;
    struct thread *next = choose(cpu, true);
    switch_to(next ? next : cpu->idle, false);
}

void thread_yield(void) {
    struct cpu *cpu = this_cpu();
    cpu->reschedule = false;
    uint64_t t = charge(cpu, cpu->current);
    struct thread *next = choose(cpu, false);
    if (next != NULL)
        switch_to(next, true);
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

// Who sent it meant an idle CPU, or one whose thread should give way. A CPU that has found work meanwhile
// passes the request on, so that there is always an idle CPU asked for each thread that waits.
void thread_poked(void) {
    struct cpu *cpu = this_cpu();
    cpu->reschedule = true;
    if (cpu->current != cpu->idle && sched_anybody_waits())
        offer(cpu->index);
}

void thread_tick(void) {
    struct cpu *cpu = this_cpu();
    if (cpu->current == cpu->idle) {
        cpu->slice_end = 0;
        return;
    }
    uint64_t t = charge(cpu, cpu->current);
    if (sched->tick(cpu->index, &cpu->current->entity))
        cpu->reschedule = true;
    cpu->slice_end = t + slice_us(cpu) * cycles_per_us;
}

// ---- waking

// A thread that has just begun to wait may still be on its way off its CPU. Its waker sees to it that the
// stack is free before anybody else can pick the thread.
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

static void make_ready(struct thread *thread, enum sched_why why) {
    struct cpu *cpu = this_cpu();
    settle(thread);
    account(thread, THREAD_RUNNABLE, now());
    bool claimed = false;
    unsigned to = sched->wake_cpu(&thread->entity, cpu->index, &claimed);
    sched->enqueue(to, &thread->entity, why);
    unsigned depth = sched->waiting(to);
    if (depth > cpu->count.queue_depth_max)
        cpu->count.queue_depth_max = depth;
    if (claimed) {
        if (to != cpu->index) // else this is the idle loop's own CPU, on its way there
            send_reschedule(cpu, to);
        return;
    }
    struct thread *there = cpus[to].current; // a hint only: it may change while we look
    if (offer(to) || there == cpus[to].idle || !sched->preempts(&thread->entity, &there->entity))
        return;
    if (to == cpu->index)
        cpu->reschedule = true;
    else
        send_reschedule(cpu, to);
}

void thread_start(struct thread *thread) {
    make_ready(thread, SCHED_NEW);
}

// ---- waiting

static void queue_add(struct wait_queue *queue, struct thread *thread) {
    assert(atomic_load_explicit(&thread->waits_in, memory_order_relaxed) == NULL);
    thread->next = NULL;
    thread->previous = queue->tail;
    if (queue->tail)
        queue->tail->next = thread;
    else
        queue->head = thread;
    queue->tail = thread;
    atomic_store_explicit(&thread->waits_in, queue, memory_order_release);
}

static void queue_remove(struct wait_queue *queue, struct thread *thread) {
    *(thread->previous ? &thread->previous->next : &queue->head) = thread->next;
    *(thread->next ? &thread->next->previous : &queue->tail) = thread->previous;
    atomic_store_explicit(&thread->waits_in, NULL, memory_order_release);
}

void wait_move(struct wait_queue *from, struct wait_queue *to, struct thread *thread) {
    queue_remove(from, thread);
    queue_add(to, thread);
}

int wait_on(struct wait_queue *queue, uint64_t deadline) {
    struct thread *me = current();
    // seq_cst, with thread_interrupt: either it finds us in the queue, or we see that we are killed
    queue_add(queue, me);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&me->killed, memory_order_relaxed)) {
        queue_remove(queue, me);
        lock_drop(queue->lock);
        return -RING_EINTR;
    }
    me->wait_count++;
    me->wait_result = 0;
    me->deadline = deadline;
    account(me, THREAD_BLOCKED, now());
    if (deadline != 0)
        timer_sleep(me);
    lock_drop(queue->lock);
    leave();
    if (deadline != 0)
        timer_cancel(me);
    return me->wait_result;
}

void wake_thread(struct wait_queue *queue, struct thread *thread, int result) {
    queue_remove(queue, thread);
    thread->wait_result = result;
    make_ready(thread, SCHED_WAKE);
}

// Ends a wait from outside, if it is still the one that was meant.
static void end_wait(struct thread *thread, int result, const uint64_t *count, const struct lock *held) {
    // acquire: pairs with the release in queue_add, after which the queue's lock is known
    struct wait_queue *queue = atomic_load_explicit(&thread->waits_in, memory_order_acquire);
    if (queue == NULL)
        return;
    if (queue->lock != held)
        lock_take(queue->lock);
    struct wait_queue *still = atomic_load_explicit(&thread->waits_in, memory_order_relaxed);
    if (still != NULL && still->lock == queue->lock && (count == NULL || *count == thread->wait_count))
        wake_thread(still, thread, result);
    if (queue->lock != held)
        lock_drop(queue->lock);
}

void thread_expire(struct thread *thread, uint64_t count) {
    end_wait(thread, -RING_ETIMEDOUT, &count, NULL);
}

void thread_interrupt(struct thread *thread, const struct lock *held) {
    atomic_store_explicit(&thread->killed, true, memory_order_seq_cst);
    end_wait(thread, -RING_EINTR, NULL, held);
    unsigned cpu = thread->entity.cpu;
    if (cpu != this_cpu()->index && cpus[cpu].current == thread)
        send_reschedule(this_cpu(), cpu);
}

// ---- beginning and end

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
    account(me, THREAD_DEAD, me->died);
    measure_thread_ended(me);
}

void thread_end(void) {
    leave();
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

// Nobody halts while a thread waits in a queue. The bit says that this CPU halts, or will have looked at all
// queues before it does. Both are seq_cst, as are the enqueue and the look at the bits on the other side
// (offer): one of the two sees the other. An interrupt that comes between the look and hlt stays pending
// until sti, and ends the halt.
static void halt_unless_needed(struct cpu *cpu) {
    uint64_t bit = 1ul << cpu->index;
    atomic_fetch_or_explicit(&sched_cpus.idle, bit, memory_order_seq_cst);
    if (sched_anybody_waits())
        pause(); // the search is bounded and never waits for a lock: once more
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
        struct thread *next = choose(cpu, true);
        cpu->reschedule = false;
        if (next != NULL)
            switch_to(next, false);
        // Who switches back here has searched in vain a moment ago (leave); whoever came since is seen.
        halt_unless_needed(cpu);
    }
}
