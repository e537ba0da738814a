// A spin lock that knows its owner and its class. Interrupts are off all through the kernel, so there is
// no variant for interrupt context. A waiter serves its TLB mailbox: the holder may wait for just that.
//
// Test and test-and-set, not a ticket: on an oversubscribed host the next ticket may belong to a vCPU that
// does not run. Rank: the order of LOCK_LIST; the debug profile checks it at each take.
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

void lock_slow(struct lock *lock);            // waits until it has it
void lock_note(struct lock *lock, bool take); // books of the debug profile and of measure=1
extern bool lock_books;                       // set at boot when lock_note has something to do

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
