// A vCPU's own time, and the clock as each thread may see it.
#include "clock_state.h"

#include <stdatomic.h>

static _Atomic bool window_open;
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
    atomic_store(&window_open, open);
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

#define CLOSE_READS 200 // instructions between two reads of one loop, at most
#define FEWEST_READS 16

static uint64_t twice(uint64_t step) {
    return step == 0 ? 100 : 2 * step < options.skip ? 2 * step : options.skip;
}

// How far to take a vCPU's time forward that spins on the TSC. A block that does nothing else may be taken
// forward by a thousandth of the time that it has waited, always: nobody can tell. In other loops somebody
// may be timing something short, so they are cut short only in a boot, outside the window, in growing steps.
static uint64_t step_of(unsigned c, uint64_t own) {
    uint64_t timed = counter_timed(c);
    bool only_waits = timed != vcpus[c].timed;
    vcpus[c].timed = timed;
    if (own - vcpus[c].last_tsc >= CLOSE_READS) {
        vcpus[c].spins = 0;
        vcpus[c].skip = 0;
        vcpus[c].spins_since = own;
        return 0;
    }
    if (only_waits)
        return (own - vcpus[c].spins_since) / 1000;
    vcpus[c].spins_since = own;
    bool measured = options.rules.rush == 1 || atomic_load(&window_open);
    return ++vcpus[c].spins > FEWEST_READS && !measured ? vcpus[c].skip = twice(vcpus[c].skip) : 0;
}

// A guest that spins on the TSC burns host time for nothing. Its time is taken forward, never beyond its
// limit: as if the loop had run, but not counted as instructions. It depends on instruction counts only, so
// it repeats.
uint64_t clock_spin_read(void) {
    unsigned c = (unsigned)clock_self;
    uint64_t own = clock_own(c), step = step_of(c, own);
    uint64_t left = machine.vcpu[c].until > own ? machine.vcpu[c].until - own : 0;
    if (step > left)
        step = left;
    if (step) {
        fold(c);
        vcpus[c].time += step;
        vcpus[c].skipped += step;
        set_budget(c, left - step);
    }
    vcpus[c].last_tsc = clock_own(c);
    return clock_seen();
}
