// A vCPU's own time, and the time that each thread is shown.
#include "activity.h"
#include "clock_state.h"

#include <stdatomic.h>

static _Atomic bool window_open;
static _Atomic uint64_t shown; // the latest time that any vCPU was shown

// What the vCPU has executed since its counter was `base`.
static uint64_t ran(unsigned c) {
    uint64_t counted = counter_read(c) - clock_vcpus[c].base, owed = clock_vcpus[c].owed;
    return counted > owed ? counted - owed : 0;
}

uint64_t clock_own(unsigned c) {
    return clock_vcpus[c].time + ran(c);
}

void clock_take_back(unsigned c, uint64_t count) {
    clock_vcpus[c].owed += count;
}

void clock_fold(unsigned c) {
    uint64_t count = counter_read(c), more = ran(c);
    clock_vcpus[c].owed -= count - clock_vcpus[c].base - more;
    clock_vcpus[c].time += more;
    clock_vcpus[c].counted += more;
    clock_vcpus[c].base = count;
}

void clock_set_budget(unsigned c, uint64_t budget) {
    clock_vcpus[c].base = COUNTER_TRIGGER - (budget < COUNTER_TRIGGER ? budget : COUNTER_TRIGGER);
    counter_write(c, clock_vcpus[c].base);
}

// The machine may have moved the vCPU's time, for example to the end of a halt.
void clock_take_grant(unsigned c) {
    clock_vcpus[c].time = clock_machine.vcpu[c].time;
    clock_set_budget(c, clock_machine.vcpu[c].until - clock_vcpus[c].time);
}

uint64_t clock_executed(unsigned c) {
    return clock_vcpus[c].counted + ran(c) - counter_paused(c);
}

uint64_t clock_paused(unsigned c) {
    return counter_paused(c);
}
uint64_t clock_skipped(unsigned c) {
    return clock_vcpus[c].skipped;
}

uint64_t clock_here(void) {
    return clock_self < 0 ? clock_machine.now : clock_own((unsigned)clock_self);
}

struct clock_work clock_work(unsigned c) {
    uint64_t counted = clock_vcpus[c].counted, other = counter_paused(c) + counter_idled(c);
    if ((int)c == clock_self)
        counted += ran(c);
    return (struct clock_work){counted + clock_vcpus[c].skipped, counted > other ? counted - other : 0};
}

uint64_t clock_halted(unsigned c, uint64_t now) {
    const struct lockstep_vcpu *v = &clock_machine.vcpu[c];
    return v->halted + (v->state == LOCKSTEP_HALT && now > v->time ? now - v->time : 0);
}

static uint64_t told[LOCKSTEP_MAX]; // what each vCPU had worked at its last stop

// The vCPU stops: what it has done since its last stop.
void clock_tell_turn(unsigned c) {
    uint64_t now = clock_work(c).worked;
    activity_ran(c, clock_machine.vcpu[c].time, clock_vcpus[c].time, now - told[c]);
    told[c] = now;
}

// The window closes during the turn of a vCPU; some others are halted.
static void tell_close(unsigned closing) {
    uint64_t now = clock_vcpus[closing].time;
    activity_runs(closing, clock_machine.vcpu[closing].time, now, clock_work(closing).worked - told[closing]);
    for (unsigned c = 0; c < clock_machine.count; c++)
        if (clock_machine.vcpu[c].state == LOCKSTEP_HALT && clock_machine.vcpu[c].time < now)
            activity_rests(c, clock_machine.vcpu[c].time, now);
}

// Ends the vCPU's halt. `waker`: see activity.h.
bool clock_end_halt(unsigned c, uint64_t time, int waker) {
    uint64_t since = clock_machine.vcpu[c].time;
    bool woken = lockstep_wake(&clock_machine, c, time);
    if (woken)
        activity_slept(c, since, clock_machine.vcpu[c].time, waker);
    return woken;
}

void clock_stop_soon(void) {
    clock_fold((unsigned)clock_self);
    clock_set_budget((unsigned)clock_self, 0);
}

void clock_window(unsigned c, bool open) {
    clock_lock();
    lockstep_window(&clock_machine, open);
    atomic_store(&window_open, open);
    clock_fold(c);
    if (!open)
        tell_close(c);
    activity_window(open, clock_vcpus[c].time);
    clock_set_budget(c, 0); // ends a grant that was made under the other quantum
    clock_unlock();
}

uint64_t clock_seen(void) {
    if (clock_self < 0)
        return clock_machine.now;
    uint64_t own = clock_own((unsigned)clock_self), latest = atomic_load(&shown);
    while (latest < own)
        if (atomic_compare_exchange_weak(&shown, &latest, own))
            return own;
    return latest;
}

#define CLOSE_READS 200 // reads of the clock fewer instructions apart than this belong to one loop
#define FEWEST_READS 16 // close reads before a loop counts as one that polls the clock

static uint64_t twice(uint64_t step) {
    return step == 0 ? 100 : 2 * step < clock_options.skip ? 2 * step : clock_options.skip;
}

// How much time to skip at this read of the clock. A loop that can do nothing but poll the clock skips a
// thousandth of the time that it has waited, inside and outside the window: the guest cannot tell the
// difference. Another loop may be timing something short, so time is skipped in it only outside the window,
// in growing steps.
static uint64_t step_of(unsigned c, uint64_t own) {
    uint64_t timed = counter_timed(c);
    bool only_waits = timed != clock_vcpus[c].timed;
    clock_vcpus[c].timed = timed;
    if (own - clock_vcpus[c].last_read >= CLOSE_READS) {
        clock_vcpus[c].spins = 0;
        clock_vcpus[c].skip = 0;
        clock_vcpus[c].spins_since = own;
        return 0;
    }
    if (only_waits)
        return (own - clock_vcpus[c].spins_since) / 1000;
    clock_vcpus[c].spins_since = own;
    bool measured = clock_options.rules.rush == 1 || atomic_load(&window_open);
    return ++clock_vcpus[c].spins > FEWEST_READS && !measured
               ? clock_vcpus[c].skip = twice(clock_vcpus[c].skip)
               : 0;
}

// Emulating a loop that polls the clock costs host time and computes nothing. So part of the wait is skipped,
// never past the vCPU's limit: its time advances as if the loop had run, but no instructions are counted. The
// decision depends on instruction counts only, so it repeats.
uint64_t clock_spin_read(void) {
    unsigned c = (unsigned)clock_self;
    uint64_t own = clock_own(c), step = step_of(c, own);
    uint64_t left = clock_machine.vcpu[c].until > own ? clock_machine.vcpu[c].until - own : 0;
    if (step > left)
        step = left;
    if (step) {
        clock_fold(c);
        clock_vcpus[c].time += step;
        clock_vcpus[c].skipped += step;
        clock_set_budget(c, left - step);
    }
    clock_vcpus[c].last_read = clock_own(c);
    return clock_seen();
}
