// A vCPU's own time, and the time that each thread is shown.
#include "activity.h"
#include "clock_state.h"
#include "outer.h"

#include <stdatomic.h>

static _Atomic bool window_open;
static _Atomic uint64_t shown; // the latest time that any vCPU was shown

// How much of the counter a wait takes: as many instructions as take so long, so that the vCPU reaches its limit in time.
static uint64_t units(unsigned c, uint64_t ns) {
    return (ns * clock_vcpus[c].capacity + CLOCK_FULL - 1) / CLOCK_FULL;
}

static uint64_t waited(unsigned c) {
    return counter_stalled(c) - clock_vcpus[c].charged;
}

uint64_t clock_units(unsigned c, uint64_t stall) {
    return units(c, waited(c) + stall) - units(c, waited(c));
}

// What passed on a vCPU since its counter was `base`. An instruction takes CLOCK_FULL / capacity ns, and a wait for
// memory so many ns on every CPU. What is owed beyond that is left for later.
struct lap {
    uint64_t ns, instructions, slowed, owed, part;
};

static struct lap lap(unsigned c) {
    const struct clock_vcpu *v = &clock_vcpus[c];
    uint64_t wait = waited(c), count = counter_read(c) - v->base - units(c, wait) - v->owed;
    int64_t parts = (int64_t)(v->part + count * CLOCK_FULL + wait * v->capacity);
    uint64_t owed = parts < 0 ? ((uint64_t)-parts + CLOCK_FULL - 1) / CLOCK_FULL : 0;
    uint64_t ns = parts < 0 ? 0 : (uint64_t)parts / v->capacity;
    return (struct lap){.ns = ns,
                        .instructions = count + owed,
                        .slowed = ns - wait - (count + owed),
                        .owed = owed,
                        .part = (uint64_t)parts + owed * CLOCK_FULL - ns * v->capacity};
}

uint64_t clock_ahead[LOCKSTEP_MAX];

static void keep_ahead(unsigned c) {
    clock_ahead[c] = clock_vcpus[c].time - clock_vcpus[c].base - clock_vcpus[c].owed;
}

uint64_t clock_own(unsigned c) {
    return clock_vcpus[c].time + lap(c).ns;
}

// The block may have been folded since it was entered.
uint64_t clock_before(unsigned c, uint64_t left) {
    const struct clock_vcpu *v = &clock_vcpus[c];
    struct lap done = lap(c);
    uint64_t passed = done.ns * v->capacity + done.part, back = left * CLOCK_FULL;
    return passed >= back ? v->time + (passed - back) / v->capacity
                          : v->time - (back - passed + v->capacity - 1) / v->capacity;
}

void clock_take_back(unsigned c, uint64_t count) {
    clock_vcpus[c].owed += count;
    keep_ahead(c);
}

void clock_fold(unsigned c) {
    struct clock_vcpu *v = &clock_vcpus[c];
    struct lap done = lap(c);
    v->owed = done.owed;
    v->part = done.part;
    v->time += done.ns;
    v->slowed += done.slowed;
    v->counted += done.instructions;
    v->base = counter_read(c);
    v->charged = counter_stalled(c);
    keep_ahead(c);
}

// The fewest instructions that take so long: at least one, unless there is no time left at all.
void clock_set_budget(unsigned c, uint64_t budget) {
    const struct clock_vcpu *v = &clock_vcpus[c];
    uint64_t most = budget < COUNTER_TRIGGER ? budget : COUNTER_TRIGGER, parts = most * v->capacity;
    uint64_t count = parts > v->part ? (parts - v->part + CLOCK_FULL - 1) / CLOCK_FULL : 0;
    clock_vcpus[c].base = COUNTER_TRIGGER - count;
    counter_write(c, clock_vcpus[c].base);
    keep_ahead(c);
}

// The machine may have moved the vCPU's time, for example to the end of a halt.
void clock_take_grant(unsigned c) {
    clock_vcpus[c].time = clock_machine.vcpu[c].time;
    clock_vcpus[c].was_interrupted = false;
    clock_vcpus[c].was_slowed = clock_vcpus[c].slowed;
    clock_set_budget(c, clock_machine.vcpu[c].until - clock_vcpus[c].time);
}

uint64_t clock_executed(unsigned c) {
    return clock_vcpus[c].counted + lap(c).instructions - counter_paused(c);
}

uint64_t clock_paused(unsigned c) {
    return counter_paused(c);
}

uint64_t clock_idled(unsigned c) {
    return counter_idled(c);
}

uint64_t clock_skipped(unsigned c) {
    return clock_vcpus[c].skipped;
}

uint64_t clock_stalled(unsigned c) {
    return counter_stalled(c) + clock_vcpus[c].interrupted + clock_vcpus[c].slowed + lap(c).slowed;
}

uint64_t clock_delayed(unsigned c) {
    return clock_vcpus[c].delayed;
}

void clock_look(struct clock_look *out) {
    clock_lock();
    for (unsigned c = 0; c < clock_machine.count; c++) {
        const struct lockstep_vcpu *v = &clock_machine.vcpu[c];
        out->active[c] = v->state == LOCKSTEP_RUN || v->state == LOCKSTEP_READY;
        out->works[c] = v->spins != LOCKSTEP_ONLY_PAUSES;
    }
    clock_unlock();
}

uint64_t clock_here(void) {
    return clock_self < 0 ? clock_machine.now : clock_own((unsigned)clock_self);
}

struct clock_work clock_work(unsigned c) {
    uint64_t counted = clock_vcpus[c].counted, slowed = clock_vcpus[c].slowed;
    uint64_t idle = counter_paused(c) + counter_idled(c);
    uint64_t stalled = counter_stalled(c) + clock_vcpus[c].interrupted;
    if ((int)c == clock_self) {
        struct lap done = lap(c);
        counted += done.instructions;
        slowed += done.slowed;
    }
    return (struct clock_work){.ran = counted + slowed + stalled + clock_vcpus[c].skipped +
                                      clock_vcpus[c].delayed,
                               .worked = counted > idle ? counted - idle : 0,
                               .stalled = stalled};
}

struct clock_delays clock_delays(uint64_t time) {
    clock_lock();
    struct clock_delays now = {clock_machine.handovers, clock_machine.late,
                               lockstep_pending(&clock_machine, time)};
    clock_unlock();
    return now;
}

uint64_t clock_halted(unsigned c, uint64_t now) {
    const struct lockstep_vcpu *v = &clock_machine.vcpu[c];
    return v->halted + (v->state == LOCKSTEP_HALT && now > v->time ? now - v->time : 0);
}

static struct clock_work told[LOCKSTEP_MAX]; // as of each vCPU's last stop

// The time in which the vCPU has worked since its last stop, waits for memory included. It may have worked less than was
// told: it stops within a block of a loop that waits, which was counted as a whole.
static uint64_t busy(unsigned c, const struct clock_work *now) {
    uint64_t worked = now->worked - told[c].worked, stalled = now->stalled - told[c].stalled;
    int64_t parts = (int64_t)(worked * CLOCK_FULL + stalled * clock_vcpus[c].capacity);
    return parts > 0 ? (uint64_t)parts / clock_vcpus[c].capacity : 0;
}

// Tells what the vCPU, which stops now, has done since its last stop.
void clock_tell_turn(unsigned c) {
    struct clock_work now = clock_work(c);
    uint64_t ns = busy(c, &now);
    activity_ran(c, clock_machine.vcpu[c].time, clock_vcpus[c].time, ns);
    if (ns)
        told[c] = now;
}

void clock_interrupt(unsigned c) {
    uint64_t from = clock_machine.vcpu[c].time;
    if (clock_vcpus[c].was_interrupted || clock_machine.vcpu[c].state != LOCKSTEP_READY)
        return;
    uint64_t span = outer_interrupt(c);
    if (!span)
        return;
    clock_vcpus[c].was_interrupted = true;
    clock_vcpus[c].interrupted += span;
    told[c].stalled += span;
    activity_ran(c, from, from + span, span);
    lockstep_delay(&clock_machine, c, span);
}

// In the columns it counts as time in which the vCPU neither works nor halts.
void clock_stall(unsigned c, uint64_t span) {
    uint64_t from = clock_machine.vcpu[c].time;
    clock_vcpus[c].delayed += span;
    activity_ran(c, from, from + span, 0);
    lockstep_stall(&clock_machine, c, span);
}

// Tells of all vCPUs that the window closes, during the turn of one; some others may be halted.
static void tell_close(unsigned closing) {
    uint64_t now = clock_vcpus[closing].time;
    struct clock_work work = clock_work(closing);
    activity_runs(closing, clock_machine.vcpu[closing].time, now, busy(closing, &work));
    for (unsigned c = 0; c < clock_machine.count; c++)
        if (clock_machine.vcpu[c].state == LOCKSTEP_HALT && clock_machine.vcpu[c].time < now)
            activity_rests(c, clock_machine.vcpu[c].time, now);
}

// Ends the vCPU's halt. `waker`: a vCPU, or EVENTS_MACHINE.
bool clock_end_halt(unsigned c, uint64_t time, int waker) {
    uint64_t since = clock_machine.vcpu[c].time;
    bool woken = lockstep_wake(&clock_machine, c, time);
    if (woken) {
        activity_slept(c, since, clock_machine.vcpu[c].time, waker);
        clock_tell_wake(c, since);
    }
    return woken;
}

void clock_stop_soon(void) {
    clock_fold((unsigned)clock_self);
    clock_set_budget((unsigned)clock_self, 0);
}

bool clock_disordered(uint64_t time, uint64_t late) {
    clock_lock();
    bool ends = lockstep_disorder(&clock_machine, (unsigned)clock_self, time, late);
    clock_unlock();
    return ends;
}

bool clock_contended(uint64_t time) {
    clock_lock();
    bool ends = lockstep_contend(&clock_machine, time);
    clock_unlock();
    return ends;
}

void clock_window(unsigned c, bool open) {
    clock_lock();
    lockstep_window(&clock_machine, open);
    atomic_store(&window_open, open);
    outer_opens(open);
    clock_fold(c);
    if (!open)
        tell_close(c);
    activity_window(open, clock_vcpus[c].time);
    uint64_t latest = clock_vcpus[c].time;
    for (unsigned o = 0; o < clock_machine.count; o++)
        latest = clock_machine.vcpu[o].time > latest ? clock_machine.vcpu[o].time : latest;
    outer_opened(open, clock_vcpus[c].time, latest);
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

// The guest reads when its window begins, and would be shown the time of a vCPU that is ahead. Before the window that
// may be far, so the vCPU waits for that time: what it is shown and what it executes begin together.
void clock_level(unsigned c) {
    uint64_t own = clock_own(c), latest = atomic_load(&shown), until = clock_machine.vcpu[c].until;
    uint64_t time = latest < until ? latest : until;
    if (time <= own || lockstep_is_exact(&clock_machine))
        return;
    clock_fold(c);
    clock_vcpus[c].time += time - own;
    clock_vcpus[c].skipped += time - own;
    clock_set_budget(c, until - time);
}

// What a thread was shown depends on the seed.
const char *clock_restart(uint64_t seed, struct clock_moment start) {
    if (clock_guest_started || atomic_load(&shown))
        return "the machine has begun, or has read its clock";
    clock_lock();
    uint64_t moved = start.time - clock_options.start.time;
    clock_options.start = start;
    lockstep_restart(&clock_machine, clock_options.rules.seed = seed, moved);
    for (unsigned c = 0; c < clock_machine.count; c++) {
        clock_vcpus[c].time = clock_machine.vcpu[c].time;
        clock_set_budget(c, 0);
    }
    clock_unlock();
    return NULL;
}

uint64_t clock_last_shown(void) {
    return atomic_load(&shown);
}

#define CLOSE_READS 200 // reads of the clock fewer instructions apart than this belong to one loop
#define FEWEST_READS 16 // close reads before a loop counts as one that polls the clock

static uint64_t twice(uint64_t step) {
    return step == 0 ? 100 : 2 * step < clock_options.skip ? 2 * step : clock_options.skip;
}

// The time to skip at this read of the clock. A loop that can do nothing but poll the clock skips a
// thousandth of the time that it has waited, inside and outside the window: the guest cannot tell the
// difference. Another loop may be timing something short, so time is skipped in it only outside the window,
// in growing steps.
static uint64_t step_of(unsigned c, uint64_t own) {
    uint64_t timed = counter_timed(c);
    bool only_waits = timed != clock_vcpus[c].timed;
    clock_vcpus[c].timed = timed;
    if (own - clock_vcpus[c].last_read >= CLOSE_READS * CLOCK_FULL / clock_vcpus[c].capacity) {
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
