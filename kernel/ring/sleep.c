#include "ring/sleep.h"

#include "arch/tsc.h"
#include "core/thread.h"
#include "ring/ring.h"

static struct {
    _Alignas(128) struct lock lock;
    struct wait_queue queue; // guarded by lock; never woken but by the timer and a kill
} sleepers[MAX_CPUS] = {[0 ... MAX_CPUS - 1] = {.lock = LOCK(park)}};

int sleep_until(uint64_t when, struct ring_wait *wait) {
    if (when <= now())
        return 0;
    if (!wait->allowed) {
        wait->later = true;
        return -RING_EAGAIN;
    }
    bool cut = wait->deadline != 0 && wait->deadline < when;
    unsigned cpu = this_cpu()->index;
    lock_take(&sleepers[cpu].lock);
    sleepers[cpu].queue.lock = &sleepers[cpu].lock;
    int result = wait_on(&sleepers[cpu].queue, cut ? wait->deadline : when);
    return result == -RING_ETIMEDOUT && !cut ? 0 : result;
}
