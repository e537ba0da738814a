// A vCPU's own time, and the clock as each thread may see it.
#include "clock_state.h"

#include <stdatomic.h>

static _Atomic uint64_t shown; // the latest time that any vCPU has seen
_Thread_local int clock_self = -1;

uint64_t clock_own(unsigned c) {
    return vcpus[c].time + (counter_read(c) - vcpus[c].base);
}

void fold(unsigned c) {
    uint64_t count = counter_read(c), ran = count - vcpus[c].base;
    vcpus[c].time += ran;
    vcpus[c].counted += ran;
    vcpus[c].base = count;
}

void set_budget(unsigned c, uint64_t budget) {
    vcpus[c].base = COUNTER_TRIGGER - (budget < COUNTER_TRIGGER ? budget : COUNTER_TRIGGER);
    counter_write(c, vcpus[c].base);
}

// Runs on under its grant: at the machine's time for it, up to its limit.
void take_grant(unsigned c) {
    vcpus[c].time = machine.vcpu[c].time;
    set_budget(c, machine.vcpu[c].until - vcpus[c].time);
}

uint64_t clock_executed(unsigned c) {
    return vcpus[c].counted + (counter_read(c) - vcpus[c].base) - counter_paused(c);
}

uint64_t clock_paused(unsigned c) {
    return counter_paused(c);
}
uint64_t clock_skipped(unsigned c) {
    return vcpus[c].skipped;
}

uint64_t clock_halted(unsigned c, uint64_t now) {
    const struct lockstep_vcpu *v = &machine.vcpu[c];
    return v->halted + (v->state == LOCKSTEP_HALT && now > v->time ? now - v->time : 0);
}

void clock_stop_soon(void) {
    fold((unsigned)clock_self);
    set_budget((unsigned)clock_self, 0);
}

void clock_window(unsigned c, bool open) {
    lock();
    lockstep_window(&machine, open);
    fold(c);
    set_budget(c, 0); // what was granted under the other quantum ends here
    unlock();
}

uint64_t clock_seen(void) {
    if (clock_self < 0)
        return machine.now;
    uint64_t own = clock_own((unsigned)clock_self), latest = atomic_load(&shown);
    while (latest < own)
        if (atomic_compare_exchange_weak(&shown, &latest, own))
            return own;
    return latest;
}

// A guest that spins on the TSC burns host time for nothing. After a few reads close together its time
// is taken forward, in growing steps, never beyond its limit: as if the loop had run, but not counted as
// instructions. It depends on instruction counts only, so it repeats.
uint64_t clock_spin_read(void) {
    unsigned c = (unsigned)clock_self;
    uint64_t own = clock_own(c);
    if (own - vcpus[c].last_tsc >= 200)
        vcpus[c].spins = 0, vcpus[c].skip = 0;
    else if (++vcpus[c].spins > 16 && options.skip) {
        fold(c);
        uint64_t step = vcpus[c].skip ? 2 * vcpus[c].skip : 100;
        if (step > options.skip)
            step = options.skip;
        uint64_t left = machine.vcpu[c].until > own ? machine.vcpu[c].until - own : 0;
        if (step > left)
            step = left;
        if (step) {
            vcpus[c].skip = step;
            vcpus[c].time += step;
            vcpus[c].skipped += step;
            set_budget(c, left - step);
        }
    }
    vcpus[c].last_tsc = clock_own(c);
    return clock_seen();
}
