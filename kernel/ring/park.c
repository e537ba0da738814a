#include "ring/park.h"

#include <stddef.h>

#include "arch/tsc.h"
#include "core/fault.h"
#include "core/thread.h"
#include "core/timer.h"
#include "ring/ring.h"
#include "ring/sleep.h"
#include "sched/common.h"

static struct bucket {
    _Alignas(128) struct lock lock;
    char pad[64 - sizeof(struct lock) - offsetof(struct wait_queue, coming)];
    struct wait_queue queue; // guarded by lock, but for `coming`, which begins the next line
} buckets[PARK_BUCKETS] = {[0 ... PARK_BUCKETS - 1] = {.lock = LOCK(park)}};

static unsigned bucket_of(uint64_t key) {
    return (unsigned)(key * 0x9e3779b97f4a7c15ul >> 40) % PARK_BUCKETS;
}

int park(uint64_t key, const uint32_t *word, uint32_t expected, struct ring_wait *wait) {
    struct bucket *bucket = &buckets[bucket_of(key)];
    // acquire: pairs with the waker's store to the word
    bool differs = __atomic_load_n(word, __ATOMIC_ACQUIRE) != expected;
    if (differs || !wait->allowed) {
        wait->later = !differs;
        return -RING_EAGAIN;
    }
    current()->key = key;
    return wait_while(&bucket->queue, &bucket->lock, word, expected, wait->deadline);
}

uint64_t unpark(uint64_t key, uint64_t most) {
    static _Atomic uint64_t found; // fault=lost-wake counts here
    struct bucket *bucket = &buckets[bucket_of(key)];
    uint64_t woken = 0;
    struct wake_list list = {0};
    if (wait_none(&bucket->queue))
        return 0;
    lock_take(&bucket->lock);
    struct thread *t = bucket->queue.head, *next;
    for (; woken < most && (t != NULL || (t = wait_gather(&bucket->queue)) != NULL); t = next) {
        // As it is. A line that is written first moves once, and one that is read first twice.
        t->wait_result = 0;
        next = t->next;
        if (t->key != key)
            continue;
        woken++;
        if (fault_is(FAULT_LOST_WAKE) && atomic_fetch_add(&found, 1) + 1 == (fault_value ? fault_value : 1))
            continue;
        wake_later(&list, &bucket->queue, t, 0);
    }
    lock_drop(&bucket->lock);
    wake_now(&list);
    return woken;
}

enum late { NONE, SOME, REST };

// As unpark; but one in N (10), or the rest after the first one, goes to another wait queue, from where a timer
// wakes it 2 ms later.
FAULT_COPY static uint64_t unpark_wrong(uint64_t key, uint64_t most, enum late late) {
    static struct wait_queue queues[PARK_BUCKETS];
    struct bucket *bucket = &buckets[bucket_of(key)];
    struct wait_queue *later = &queues[bucket - buckets];
    uint64_t woken = 0;
    struct wake_list list = {0};
    lock_take(&bucket->lock);
    later->lock = &bucket->lock;
    struct thread *t = bucket->queue.head, *next;
    for (; woken < most && (t != NULL || (t = wait_gather(&bucket->queue)) != NULL); t = next) {
        next = t->next;
        if (t->key != key)
            continue;
        woken++;
        bool hits = late == SOME ? sched_is_hit(10) : late == REST && woken > 1;
        if (!hits) {
            wake_later(&list, &bucket->queue, t, 0);
            continue;
        }
        wait_move(&bucket->queue, later, t);
        t->deadline = now() + 2000 * cycles_per_us;
        timer_sleep(t);
    }
    lock_drop(&bucket->lock);
    wake_now(&list);
    return woken;
}

// fault=late-unpark: that.
FAULT_COPY uint64_t unpark_late(uint64_t key, uint64_t most) {
    return unpark_wrong(key, most, SOME);
}

// fault=late-rest: the others, of those who shall all be woken.
FAULT_COPY uint64_t unpark_rest_late(uint64_t key, uint64_t most) {
    return unpark_wrong(key, most, REST);
}

// fault=sleepy-unpark: one in N (10) of those who wake others sleeps for 2 ms first.
FAULT_COPY uint64_t unpark_asleep(uint64_t key, uint64_t most) {
    if (sched_is_hit(10))
        sleep_until(now() + 2000 * cycles_per_us, &(struct ring_wait){.allowed = true});
    return unpark_wrong(key, most, NONE);
}

// fault=sleepy-park: one in N (10) of those who were woken sleeps again, for 1 ms.
FAULT_COPY int park_asleep(uint64_t key, const uint32_t *word, uint32_t expected, struct ring_wait *wait) {
    struct bucket *bucket = &buckets[bucket_of(key)];
    if (!wait->allowed) {
        wait->later = true;
        return -RING_EAGAIN;
    }
    current()->key = key;
    int result = wait_while(&bucket->queue, &bucket->lock, word, expected, wait->deadline);
    if (result == 0 && sched_is_hit(10))
        sleep_until(now() + 1000 * cycles_per_us, &(struct ring_wait){.allowed = true});
    return result;
}
