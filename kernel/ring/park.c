#include "ring/park.h"

#include "core/fault.h"
#include "core/thread.h"
#include "ring/ring.h"

static struct {
    _Alignas(128) struct lock lock;
    struct wait_queue queue; // guarded by lock
} buckets[PARK_BUCKETS] = {[0 ... PARK_BUCKETS - 1] = {.lock = LOCK(park)}};

static unsigned bucket_of(uint64_t key) {
    return (unsigned)(key * 0x9e3779b97f4a7c15ul >> 40) % PARK_BUCKETS;
}

static bool differs_from(const uint32_t *word, uint32_t expected) {
    // acquire: pairs with the waker's store to the word
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) != expected;
}

// `early` (fault=wake-window): looks at the word before it has the lock. A waker in between finds nobody. What the lock
// needs is computed first, and the lock is tried here, so the window has no call and as few instructions as possible: an
// ordinary turn of the clock hardly ever ends in it.
FAULT_LINES int park_with(bool early, uint64_t key, const uint32_t *word, uint32_t expected,
                          struct ring_wait *wait) {
    unsigned b = bucket_of(key);
    bool differs;
    if (early) {
        struct lock *lock = &buckets[b].lock;
        unsigned cpu = this_cpu()->index;
        __asm__ volatile("" : "+r"(lock), "+r"(cpu));
        differs = differs_from(word, expected);
        if (!lock_try(lock, cpu))
            lock_take(lock);
    } else {
        lock_take(&buckets[b].lock);
        differs = differs_from(word, expected);
    }
    if (differs || !wait->allowed) {
        wait->later = !differs;
        lock_drop(&buckets[b].lock);
        return -RING_EAGAIN;
    }
    buckets[b].queue.lock = &buckets[b].lock;
    current()->key = key;
    return wait_on(&buckets[b].queue, wait->deadline);
}

int park(uint64_t key, const uint32_t *word, uint32_t expected, struct ring_wait *wait) {
    return park_with(false, key, word, expected, wait);
}
FAULT_COPY int park_early(uint64_t key, const uint32_t *word, uint32_t expected, struct ring_wait *wait) {
    return park_with(true, key, word, expected, wait);
}

uint64_t unpark(uint64_t key, uint64_t most) {
    static _Atomic uint64_t found; // fault=lost-wake counts here
    unsigned b = bucket_of(key);
    uint64_t woken = 0;
    struct wake_list list = {0};
    lock_take(&buckets[b].lock);
    struct thread *next;
    for (struct thread *t = buckets[b].queue.head; t != NULL && woken < most; t = next) {
        next = t->next;
        if (t->key != key)
            continue;
        woken++;
        if (fault_is(FAULT_LOST_WAKE) && atomic_fetch_add(&found, 1) + 1 == (fault_value ? fault_value : 1))
            continue;
        wake_later(&list, &buckets[b].queue, t, 0);
    }
    lock_drop(&buckets[b].lock);
    wake_now(&list);
    return woken;
}
