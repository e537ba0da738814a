// A spin lock that records its owner and its class. Interrupts are off in all kernel code, so there is no
// variant for interrupt context. A waiter serves its TLB mailbox, because the lock holder may be waiting for
// that.
//
// Test and test-and-set, not a ticket lock: on an oversubscribed host the next ticket may belong to a
// preempted vCPU. The lock order is that of LOCK_LIST; the debug profile checks it at each acquisition.
#ifndef CORE_LOCK_H
#define CORE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "measure/counters.h"

struct lock {
    _Atomic uint32_t owner; // 0 free, else CPU + 1
    uint32_t class;
    uint64_t since; // measure: when it was taken
};

#define LOCK(name)                                                                                           \
    { .owner = 0, .class = LOCK_##name, .since = 0 }

void lock_slow(struct lock *lock);            // spins until it has the lock
void lock_note(struct lock *lock, bool take); // statistics for the debug profile and measure=1
extern bool lock_books;                       // set at boot if lock_note is to be called

static inline bool lock_try(struct lock *lock, unsigned cpu) {
    uint32_t free = 0;
    // acquire: pairs with the release in lock_drop
    if (!atomic_compare_exchange_strong_explicit(&lock->owner, &free, cpu + 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    if (CONFIG_CHECKS && lock_books)
        lock_note(lock, true);
    return true;
}

void lock_take(struct lock *lock);

static inline void lock_drop(struct lock *lock) {
    if (CONFIG_CHECKS && lock_books)
        lock_note(lock, false);
    // release: pairs with the acquire in lock_try
    atomic_store_explicit(&lock->owner, 0, memory_order_release);
}

#endif
