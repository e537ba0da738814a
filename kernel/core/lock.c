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

void lock_slow(struct lock *lock) {
    struct cpu *cpu = this_cpu();
    uint64_t begin = now(), limit = begin + SPIN_LIMIT_MS * 1000 * cycles_per_us;
    for (;;) {
        uint32_t owner = atomic_load_explicit(&lock->owner, memory_order_relaxed);
        if (owner == 0 && lock_try(lock, cpu->index))
            break;
        tlb_serve();
        pause();
        if (CONFIG_DEBUG && now() > limit)
            panic("why=lock-deadline class=%u waits_for=%u", lock->class, owner - 1);
    }
    if (measure_on)
        cpu->count.lock_wait_cycles[lock->class] += now() - begin;
}

void lock_note(struct lock *lock, bool take) {
    struct cpu *cpu = this_cpu();
    uint32_t bit = 1u << lock->class;
    if (take) {
        cpu->lock_held |= bit;
        cpu->count.lock_takes[lock->class]++;
        lock->since = now();
    } else {
        cpu->lock_held &= ~bit;
        cpu->count.lock_hold_cycles[lock->class] += now() - lock->since;
    }
}
