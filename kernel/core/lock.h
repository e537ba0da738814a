// A spin lock that records its owner and its class. Interrupts are off in all kernel code, so there is no
// variant for interrupt context. A waiter serves its TLB mailbox, because the lock holder may be waiting for
// that.
//
// One CPU at a time waits for the lock itself; the others queue behind it, each looking at a cache line of its
// own (Mellor-Crummey and Scott 1991; a word for the lock beside the queue, as in Linux's qspinlock). If all of
// them looked at the lock, each release would cost as many line transfers as there are waiters (Boyd-Wickizer et
// al., Non-scalable locks are dangerous, 2012; README.md has tern's own figures). A CPU that finds the lock free
// takes it, even if others queue: on an oversubscribed host the first of the queue may be a preempted vCPU. The
// lock order is that of LOCK_LIST; the debug profile checks it at each acquisition.
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
    _Atomic(struct lock_place *) last; // of the queue; NULL: nobody queues
};

// A CPU's place in the queue of a lock. It has one for each class, since it never waits for two of a class.
struct lock_place {
    _Atomic(struct lock_place *) next;
    _Atomic bool waits; // until the CPU is the first in the queue
};

#define LOCK(name)                                                                                           \
    { .owner = 0, .class = LOCK_##name, .last = NULL }

void lock_slow(struct lock *lock);            // queues until it has the lock
void lock_note(struct lock *lock, bool take); // statistics for the debug profile and measure=1
extern bool lock_books;                       // set at boot if lock_note is to be called

// host/: what another CPU does just before this one gets the lock, or at another bad moment
#if __STDC_HOSTED__
void host_meanwhile(void);
#else
static inline void host_meanwhile(void) {}
#endif

static inline bool lock_try(struct lock *lock, unsigned cpu) {
    uint32_t free = 0;
    host_meanwhile();
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
