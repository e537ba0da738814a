#include "core/timer.h"

#include "arch/lapic.h"
#include "arch/tsc.h"
#include "core/print.h"
#include "core/thread.h"

static struct {
    _Alignas(128) struct lock lock;
    struct thread *first; // guarded by lock; sorted by deadline
} sleepers[MAX_CPUS] = {[0 ... MAX_CPUS - 1] = {.lock = LOCK(timer)}};

// A timer that expires too early costs one interrupt, but setting it costs a LAPIC write each time. So the
// timer is only moved to an earlier time here, and the interrupt sets it again.
static void set_for(struct cpu *cpu, uint64_t when) {
    if (when == 0 || (cpu->timer_at != 0 && cpu->timer_at <= when))
        return;
    uint64_t t = now();
    cpu->timer_at = when;
    lapic_timer(when > t ? when - t : 1);
}

static uint64_t first_deadline(unsigned cpu) {
    return sleepers[cpu].first ? sleepers[cpu].first->deadline : 0;
}

void timer_sleep(struct thread *thread) {
    struct cpu *cpu = this_cpu();
    lock_take(&sleepers[cpu->index].lock);
    thread->timer_cpu = cpu->index;
    struct thread **link = &sleepers[cpu->index].first;
    while (*link && (*link)->deadline <= thread->deadline)
        link = &(*link)->timer_next;
    thread->timer_next = *link;
    *link = thread;
    set_for(cpu, first_deadline(cpu->index));
    lock_drop(&sleepers[cpu->index].lock);
}

void timer_cancel(struct thread *thread) {
    unsigned cpu = thread->timer_cpu;
    lock_take(&sleepers[cpu].lock);
    for (struct thread **link = &sleepers[cpu].first; *link; link = &(*link)->timer_next)
        if (*link == thread) {
            *link = thread->timer_next;
            break;
        }
    thread->deadline = 0;
    lock_drop(&sleepers[cpu].lock);
}

// When a thread is switched to, the timer may still be set for an earlier slice, often the thread's own
// before it slept. If that ends almost when the new slice would, the new slice ends with it. Otherwise the
// timer expires early and is set again.
void timer_slice(uint64_t end) {
    struct cpu *cpu = this_cpu();
    uint64_t slack = SLICE_SLACK_US * cycles_per_us;
    if (cpu->timer_at != 0 && cpu->timer_at <= end && end - cpu->timer_at <= slack)
        end = cpu->timer_at;
    cpu->slice_end = end;
    set_for(cpu, end);
}

// Removes one sleeper whose deadline has passed; *count is the number of its wait.
static struct thread *take_due(struct cpu *cpu, uint64_t t, uint64_t *count) {
    lock_take(&sleepers[cpu->index].lock);
    struct thread *thread = sleepers[cpu->index].first;
    if (thread != NULL && thread->deadline <= t) {
        sleepers[cpu->index].first = thread->timer_next;
        *count = thread->wait_count;
    } else {
        thread = NULL;
    }
    lock_drop(&sleepers[cpu->index].lock);
    return thread;
}

void timer_interrupt(void) {
    struct cpu *cpu = this_cpu();
    struct thread *thread;
    uint64_t t = now(), count;
    cpu->count.ticks++;
    cpu->timer_at = 0;
    while ((thread = take_due(cpu, t, &count)) != NULL)
        thread_expire(thread, count);
    if (cpu->slice_end != 0 && cpu->slice_end <= t)
        thread_tick();
    lock_take(&sleepers[cpu->index].lock);
    set_for(cpu, first_deadline(cpu->index));
    lock_drop(&sleepers[cpu->index].lock);
    set_for(cpu, cpu->slice_end);
}
