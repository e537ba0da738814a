// What a vCPU's thread does: reaches its limit, halts, wakes others, goes on errands.
#include "clock_state.h"

#include <stdatomic.h>

#define CREEP_NS 200000 // level count: how long a vCPU stands still at most, before it runs one block

void clock_adopt(unsigned c) {
    lock();
    lockstep_appear(&machine, c);
    vcpus[c].time = machine.vcpu[c].time;
    set_budget(c, 0);
    hand_out();
    unlock();
}

static void start(void) {
    started = true;
#if INSN_FULL
    ping_main(); // the main loop may sleep in host time
#endif
}

// The thread was off on an errand, and now there is guest code to run: somebody outside the guest (a device's
// own thread) woke the vCPU meanwhile. It waits for its turn as if it had slept till then; the block that it
// stands before counts from there. True if it may go on.
static bool end_errand(unsigned c) {
    uint64_t block = counter_read(c) - vcpus[c].base;
    counter_write(c, vcpus[c].base);
    lockstep_wake(&machine, c, machine.now);
    vcpus[c].errand = ERRAND_NONE;
    hand_out();
    await_grant(c);
    take_grant(c);
    counter_write(c, vcpus[c].base + block);
    return counter_read(c) < COUNTER_TRIGGER;
}

#define FEWEST_WAITED 64 // a lock that is free is looked at once or twice; that is no waiting

// How it spent the stretch since it last stood still. A loop that only pauses spends 50 of about 54 ns so.
static enum lockstep_spin spins(unsigned c) {
    uint64_t paused = counter_paused(c), waited = counter_waited(c);
    uint64_t since = paused - vcpus[c].paused, looked = waited - vcpus[c].waited;
    uint64_t stretch = vcpus[c].time - machine.vcpu[c].time;
    vcpus[c].paused = paused;
    vcpus[c].waited = waited;
    if (looked >= FEWEST_WAITED || 4 * looked >= stretch)
        since += looked;
    if (since == 0)
        return LOCKSTEP_WORKS;
    return 4 * since >= 3 * stretch ? LOCKSTEP_ONLY_PAUSES : LOCKSTEP_PAUSES;
}

#define OFTEN 3 // a timer tick reads the clock a few times, in one stretch or two

// A vCPU that reads the clock in every stretch measures something, and the clock is one for all.
static bool measures(unsigned c) {
    uint64_t reads = counter_tsc(c);
    vcpus[c].in_a_row = reads != vcpus[c].tsc_reads ? vcpus[c].in_a_row + 1 : 0;
    vcpus[c].tsc_reads = reads;
    return vcpus[c].in_a_row >= OFTEN;
}

void clock_limit_reached(unsigned c, void *unused) {
    (void)unused;
    lock();
    if (!started)
        start();
    if (vcpus[c].errand == ERRAND_OFF && end_errand(c)) {
        unlock();
        return;
    }
    fold(c);
    lockstep_arrive(&machine, c, vcpus[c].time, spins(c));
    if (measures(c))
        lockstep_meet(&machine, vcpus[c].time);
    hand_out();
#if INSN_FULL
    await_grant(c);
    take_grant(c);
#else
    // QEMU may need this vCPU out of translated code (another's exclusive section), and does not say so.
    // So nobody stands still for long: after a while one block runs, which is where QEMU can stop it.
    if (machine.vcpu[c].state != LOCKSTEP_RUN) {
        wait_for_let_go(c, CREEP_NS);
    }
    if (machine.vcpu[c].state == LOCKSTEP_RUN)
        take_grant(c);
    else {
        clock_checks.creeps++;
        machine.vcpu[c].state = LOCKSTEP_RUN;
        set_budget(c, 0);
    }
#endif
    unlock();
}

void clock_idle(unsigned c) {
    lock();
    fold(c);
    clock_checks.halts++;
    lockstep_halt(&machine, c, vcpus[c].time);
    hand_out();
    unlock();
}

void clock_resume(unsigned c) {
    lock();
    lockstep_resume(&machine, c);
    take_grant(c);
    unlock();
}

uint64_t clock_own_waits(void) {
    return vcpus[clock_self].waits;
}

void clock_asleep(bool asleep) {
    unsigned c = (unsigned)clock_self;
    lock();
    vcpus[c].asleep = asleep;
    vcpus[c].pending = false;
    unlock();
}

// The thread sleeps here, not in libc: so who woke it and at what time is known, and it can be kept
// asleep until its turn has come.
void clock_wait_begin(void *condition) {
    unsigned c = (unsigned)clock_self;
    lock();
    clock_checks.waits++;
    vcpus[c].waits++;
    fold(c);
    if (vcpus[c].asleep)
        vcpus[c].halt = condition;
    if (vcpus[c].errand == ERRAND_OFF) { // back from it
        vcpus[c].errand = ERRAND_NONE;
        vcpus[c].waiting = condition;
    } else if (vcpus[c].pending && vcpus[c].halt == condition)
        clock_checks.pendings++; // woken since it looked: it does not sleep at all
    else {
        vcpus[c].waiting = condition;
        lockstep_halt(&machine, c, vcpus[c].time);
    }
    vcpus[c].pending = false;
    unlock();
}

void clock_wait_end(void) {
    unsigned c = (unsigned)clock_self;
    lock();
    if (vcpus[c].waiting) {
        hand_out();
        await_grant(c);
        vcpus[c].waiting = NULL;
        if (on_errand(c))
            set_budget(c, 0);
        else
            take_grant(c);
    }
    unlock();
}

// Before the guest has started there is no turn to wait for.
static void wake(unsigned c, uint64_t time) {
    if (!lockstep_wake(&machine, c, time))
        return;
    if (vcpus[c].waiting) // it has not left; what it was to do it does in its turn
        vcpus[c].errand = ERRAND_NONE;
    if (started)
        return;
    machine.vcpu[c].state = LOCKSTEP_RUN;
    machine.vcpu[c].until = machine.vcpu[c].time;
    let_go(c);
}

// The vCPU that wakes or interrupts another may wait for its answer: the other gets its turn at this time.
static void give_way(void) {
    if (clock_self < 0)
        return;
    lockstep_waited(&machine, clock_own((unsigned)clock_self));
    if (machine.vcpu[clock_self].state == LOCKSTEP_RUN)
        clock_stop_soon();
}

static void signal_one_who_runs(unsigned c, bool by_machine) {
    if (by_machine && started && clock_self != (int)c)
        give_way();
    if (vcpus[c].asleep && !vcpus[c].waiting && machine.vcpu[c].state == LOCKSTEP_RUN)
        vcpus[c].pending = true;
}

bool clock_signal(void *condition, bool by_machine) {
    bool found = false, wanted = false;
    lock();
    for (unsigned c = 0; c < machine.count; c++) {
        bool off = vcpus[c].errand == ERRAND_OFF && vcpus[c].halt == condition;
        bool waits = vcpus[c].waiting == condition || off;
        if (waits && machine.vcpu[c].state == LOCKSTEP_HALT) {
            if (!by_machine && started) {
                errand_wanted(c);
                wanted = true;
                continue;
            }
            found = true;
            wake(c, started && clock_self >= 0 ? clock_own((unsigned)clock_self) : machine.now);
        } else if (vcpus[c].halt == condition)
            signal_one_who_runs(c, by_machine);
    }
    if (found && started) {
        clock_checks.signals++;
        give_way();
        hand_out();
    }
    if (wanted)
        hand_out();
    unlock();
    return found;
}
