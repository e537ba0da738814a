// Limits of CPU time: in each period a part may use its quota, and then stands still until the next one. What
// it took too much is subtracted from its next periods, as Linux does it.
//
// The kernel has no quotas. It counts a program's CPU time, and stops it on demand, which is enough: the
// conductor looks when a part may have used up its quota, at the earliest.
#include "user/mix.h"

#define SHORTEST_US 100 // between two looks

static uint64_t cycles_of_us(uint64_t us) {
    return us * info()->cycles_per_us;
}

void limit_begin(struct part *one, uint64_t now) {
    if (one->cpu_us == MIX_NONE)
        return;
    one->room = (int64_t)cycles_of_us((uint64_t)one->cpu_us);
    one->period_end = now + cycles_of_us((uint64_t)one->period_us);
}

static void new_periods(struct part *one, uint64_t now) {
    int64_t quota = (int64_t)cycles_of_us((uint64_t)one->cpu_us);
    while (one->period_end <= now) {
        one->period_end += cycles_of_us((uint64_t)one->period_us);
        one->room = one->room + quota < quota ? one->room + quota : quota;
    }
}

uint64_t limit_hold(struct part *one, uint64_t now) {
    if (one->cpu_us == MIX_NONE)
        return UINT64_MAX;
    uint64_t used = mix_cycles(one);
    one->room -= (int64_t)(used - one->counted);
    one->counted = used;
    new_periods(one, now);
    mix_stop(one, one->room <= 0);
    if (one->room <= 0)
        return one->period_end;
    uint64_t least = cycles_of_us(SHORTEST_US), soonest = (uint64_t)one->room / info()->online;
    uint64_t next = now + (soonest > least ? soonest : least);
    return next < one->period_end ? next : one->period_end;
}
