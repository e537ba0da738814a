#include "core/lock.h"

#include "arch/tlb.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/percpu.h"
#include "core/print.h"
#include "measure/measure.h"

bool lock_books = CONFIG_DEBUG;

void lock_take(struct lock *lock) {
    struct cpu *cpu = this_cpu();
    if (CONFIG_DEBUG && cpu->lock_held >> lock->class != 0)
        panic("why=lock-rank class=%u held=%x", lock->class, cpu->lock_held);
    if (!lock_try(lock, cpu->index))
        lock_slow(lock);
}

// Between two looks at what it waits for. `limit`: debug, when to give up.
static void wait_a_little(const struct lock *lock, uint64_t limit) {
    tlb_serve();
    pause();
    if (CONFIG_DEBUG && now() > limit)
        panic("why=lock-deadline class=%u waits_for=%u", lock->class,
              atomic_load_explicit(&lock->owner, memory_order_relaxed) - 1);
}

// Returns once this CPU is the first in the queue.
static void queue_up(struct lock *lock, struct lock_place *mine, uint64_t limit) {
    atomic_store_explicit(&mine->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&mine->waits, true, memory_order_relaxed);
    // acq_rel: the place is initialised before another CPU can find it, and that of the CPU before this one is
    struct lock_place *before = atomic_exchange_explicit(&lock->last, mine, memory_order_acq_rel);
    if (before == NULL)
        return;
    atomic_store_explicit(&before->next, mine, memory_order_release);
    while (atomic_load_explicit(&mine->waits, memory_order_acquire)) // pairs with the release in leave_queue
        wait_a_little(lock, limit);
}

static void leave_queue(struct lock *lock, struct lock_place *mine, uint64_t limit) {
    struct lock_place *next, *last = mine;
    if (atomic_compare_exchange_strong_explicit(&lock->last, &last, NULL, memory_order_release,
                                                memory_order_relaxed))
        return;
    // Another CPU has queued behind this one, and is about to say so.
    while ((next = atomic_load_explicit(&mine->next, memory_order_acquire)) == NULL)
        wait_a_little(lock, limit);
    atomic_store_explicit(&next->waits, false, memory_order_release);
}

void lock_slow(struct lock *lock) {
    struct cpu *cpu = this_cpu();
    struct lock_place *mine = &cpu->lock_place[lock->class];
    uint64_t begin = now(), limit = begin + SPIN_LIMIT_MS * 1000 * cycles_per_us;
    queue_up(lock, mine, limit);
    while (atomic_load_explicit(&lock->owner, memory_order_relaxed) != 0 || !lock_try(lock, cpu->index))
        wait_a_little(lock, limit);
    leave_queue(lock, mine, limit);
    if (measure_on)
        cpu->count.lock_wait_cycles[lock->class] += now() - begin;
}

void lock_note(struct lock *lock, bool take) {
    struct cpu *cpu = this_cpu();
    uint32_t bit = 1u << lock->class;
    if (take) {
        cpu->lock_held |= bit;
        cpu->count.lock_takes[lock->class]++;
        cpu->lock_since[lock->class] = now();
    } else {
        cpu->lock_held &= ~bit;
        cpu->count.lock_hold_cycles[lock->class] += now() - cpu->lock_since[lock->class];
    }
}
