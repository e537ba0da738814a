// The vCPU threads' side: a vCPU reaches its limit, halts, wakes others, runs errands.
#define _GNU_SOURCE
#include "activity.h"
#include "clock_state.h"
#include "events.h"
#include "outer.h"

void clock_adopt(unsigned c) {
    clock_lock();
    lockstep_appear(&clock_machine, c);
    clock_vcpus[c].time = clock_machine.vcpu[c].time;
    clock_set_budget(c, 0);
    clock_give_grants();
    clock_unlock();
}

static bool host_begins; // the guest goes on, although all of its vCPUs have halted

// The guest begins when each vCPU has its first instruction before it or has halted, however the host orders their
// threads. So what is recorded of the begin repeats.
static void begin_together(void) {
    bool any = host_begins;
    if (clock_guest_started)
        return;
    for (unsigned c = 0; c < clock_machine.count; c++) {
        if (clock_machine.vcpu[c].state == LOCKSTEP_ABSENT || clock_machine.vcpu[c].state == LOCKSTEP_RUN)
            return;
        any |= clock_machine.vcpu[c].state == LOCKSTEP_READY;
    }
    if (!any)
        return;
    host_begins = false;
    clock_guest_begins();
    clock_wake_main(); // the main loop may still be in a sleep on host time
    clock_give_grants();
}

// QEMU has just stopped and started its vCPUs, and some may still be on their way back to their halts.
void clock_begin(void) {
    clock_lock();
    host_begins = true;
    begin_together();
    clock_unlock();
}

// The vCPU reached guest code during an errand: a thread outside the guest (a device's own) woke it
// meanwhile. It waits for its turn as if it had been halted until now, and the block that it is about to run
// counts from then on. True if its grant covers that block.
static bool end_errand(unsigned c) {
    uint64_t block = counter_read(c) - clock_vcpus[c].base;
    counter_write(c, clock_vcpus[c].base);
    clock_end_halt(c, clock_machine.now, EVENTS_MACHINE);
    clock_vcpus[c].errand = CLOCK_ERRAND_NONE;
    clock_give_grants();
    clock_await_grant(c);
    clock_take_grant(c);
    counter_write(c, clock_vcpus[c].base + block);
    return counter_read(c) < COUNTER_TRIGGER;
}

#define CALL_NS 3000     // a system call that achieves nothing takes less than this, with the loop around it
#define FEWEST_CALLS 3   // fewer such calls in a row are not a loop
#define FEWEST_WAITED 64 // fewer instructions of a wait loop are a look at a free lock, not a wait

// True if the vCPU has made one system call after another, with hardly any work in between. It is likely to
// wait for another vCPU, by yielding or by asking again and again. If not, closer steps only cost host time.
// `stretch` is what it executed in its turn, `slowed` what that took beyond 1 ns each.
static bool calls_again_and_again(unsigned c, uint64_t stretch, uint64_t slowed) {
    struct clock_vcpu *v = &clock_vcpus[c];
    uint64_t calls = counter_calls(c), more = calls - v->calls;
    v->calls = calls;
    if (stretch > (more + 1) * CALL_NS || v->time - v->called > CALL_NS + stretch + slowed)
        v->close_calls = 0;
    if (more) {
        v->close_calls += more;
        v->called = v->time;
    }
    return lockstep_is_exact(&clock_machine) && v->close_calls >= FEWEST_CALLS;
}

// Tells how the vCPU spent its turn. A loop that only pauses spends about 50 of 54 ns in `pause`.
static enum lockstep_spin spins(unsigned c) {
    uint64_t paused = counter_paused(c), waited = counter_waited(c);
    uint64_t since = paused - clock_vcpus[c].paused, looked = waited - clock_vcpus[c].waited;
    uint64_t stalled = counter_stalled(c), stretch = clock_vcpus[c].time - clock_machine.vcpu[c].time;
    uint64_t slowed = clock_vcpus[c].slowed - clock_vcpus[c].was_slowed;
    stretch -= stalled - clock_vcpus[c].stalled + slowed; // a loop that waits also waits for its memory
    clock_vcpus[c].stalled = stalled;
    clock_vcpus[c].paused = paused;
    clock_vcpus[c].waited = waited;
    if (calls_again_and_again(c, stretch, slowed))
        return LOCKSTEP_ONLY_PAUSES;
    if (looked >= FEWEST_WAITED || 4 * looked >= stretch)
        since += looked;
    if (since == 0)
        return LOCKSTEP_WORKS;
    return 4 * since >= 3 * stretch ? LOCKSTEP_ONLY_PAUSES : LOCKSTEP_PAUSES;
}

#define FEWEST_IN_A_ROW 3 // a timer tick reads the clock in one or two successive turns

// A vCPU that reads the clock turn after turn measures something. All vCPUs share one clock, so measuring
// counts as an interaction.
static bool measures(unsigned c) {
    uint64_t reads = counter_clock_reads(c);
    clock_vcpus[c].in_a_row = reads != clock_vcpus[c].clock_reads ? clock_vcpus[c].in_a_row + 1 : 0;
    clock_vcpus[c].clock_reads = reads;
    return clock_vcpus[c].in_a_row >= FEWEST_IN_A_ROW;
}

// Of a turn that ended in a halt the next one is not judged: a restored vCPU's counters begin at 0.
void clock_forget_turn(unsigned c) {
    struct clock_vcpu *v = &clock_vcpus[c];
    v->paused = counter_paused(c);
    v->waited = counter_waited(c);
    v->calls = counter_calls(c);
    v->stalled = counter_stalled(c);
    v->part = 0; // as of a restored one, which begins at a whole ns
    v->clock_reads = counter_clock_reads(c);
    v->called = v->close_calls = v->in_a_row = 0;
}

static void arrive(unsigned c, uint64_t stall) {
    clock_fold(c);
    clock_tell_turn(c);
    lockstep_arrive(&clock_machine, c, clock_vcpus[c].time, spins(c));
    if (measures(c))
        lockstep_meet(&clock_machine, clock_vcpus[c].time);
    if (stall)
        clock_stall(c, stall);
    clock_give_grants();
}

void clock_stop_here(unsigned c, size_t left, uint64_t stall) {
    clock_lock();
    clock_take_back(c, left);
    arrive(c, stall);
    clock_await_grant(c);
    clock_take_grant(c);
    counter_write(c, counter_read(c) + left);
    clock_unlock();
}

void clock_limit_reached(unsigned c, void *unused) {
    (void)unused;
    outer_turn(c);
    clock_lock();
    if (clock_vcpus[c].errand == CLOCK_ERRAND_ACTIVE && end_errand(c)) {
        clock_unlock();
        return;
    }
    arrive(c, 0);
    begin_together();
    clock_await_grant(c);
    clock_take_grant(c);
    clock_unlock();
}

uint64_t clock_own_waits(void) {
    return clock_vcpus[clock_self].waits;
}

void clock_asleep(bool asleep) {
    unsigned c = (unsigned)clock_self;
    clock_lock();
    clock_vcpus[c].asleep = asleep;
    clock_vcpus[c].pending = false;
    if (clock_vcpus[c].errand == CLOCK_ERRAND_DUE) // it has not slept: it has found the job itself
        clock_vcpus[c].errand = CLOCK_ERRAND_NONE;
    clock_unlock();
}

// The thread sleeps here and not in libc. So the clock knows which thread woke it and at what time, and can
// let it sleep until its turn.
void clock_wait_begin(void *condition) {
    unsigned c = (unsigned)clock_self;
    clock_lock();
    clock_checks.waits++;
    clock_vcpus[c].waits++;
    clock_fold(c);
    if (clock_vcpus[c].asleep)
        clock_vcpus[c].halt = condition;
    if (clock_vcpus[c].errand == CLOCK_ERRAND_ACTIVE) { // the errand has ended
        bool another = clock_vcpus[c].pending && clock_vcpus[c].halt == condition;
        clock_vcpus[c].errand = another ? CLOCK_ERRAND_DUE : CLOCK_ERRAND_NONE;
        clock_vcpus[c].waiting = condition;
    } else if (clock_vcpus[c].pending && clock_vcpus[c].halt == condition)
        clock_checks.pendings++; // woken since QEMU's last check for work: it does not sleep
    else {
        clock_vcpus[c].waiting = condition;
        clock_tell_turn(c);
        lockstep_halt(&clock_machine, c, clock_vcpus[c].time);
        clock_tell_halt(c);
        outer_halts(c);
        begin_together();
    }
    clock_vcpus[c].pending = false;
    clock_unlock();
}

void clock_wait_end(void) {
    unsigned c = (unsigned)clock_self;
    clock_lock();
    if (clock_vcpus[c].waiting) {
        clock_give_grants();
        clock_await_grant(c);
        clock_vcpus[c].waiting = NULL;
        if (clock_errand_active(c))
            clock_set_budget(c, 0);
        else
            clock_take_grant(c);
    }
    clock_unlock();
}

// Who wakes or interrupts another vCPU: the one that runs here. One that has executed nothing yet has asked for
// nothing: QEMU does, whose vCPUs agree on a moment without each other before the guest goes on.
static int sender(void) {
    return clock_self >= 0 && clock_executed((unsigned)clock_self) ? clock_self : EVENTS_MACHINE;
}

// Before the guest has started there are no turns, so the vCPU runs at once.
static void wake(unsigned c, uint64_t time) {
    int by = sender();
    // One that has not halted waits for QEMU, such as for the others to stop.
    if (!clock_end_halt(c, time, clock_vcpus[c].asleep ? by : EVENTS_MACHINE))
        return;
    if (by >= 0 && clock_guest_started)
        clock_interrupt(c);
    if (clock_guest_started)
        outer_interrupted(c, by, clock_machine.vcpu[c].time);
    if (clock_vcpus[c].waiting) // the errand has not begun; its job is done in the vCPU's turn
        clock_vcpus[c].errand = CLOCK_ERRAND_NONE;
    if (clock_guest_started)
        return;
    clock_machine.vcpu[c].state = LOCKSTEP_RUN;
    clock_machine.vcpu[c].until = clock_machine.vcpu[c].time;
    clock_release(c);
}

// A vCPU that wakes or interrupts another may wait for the answer, so it ends its turn now.
static void give_way(void) {
    if (clock_self < 0)
        return;
    lockstep_waited(&clock_machine, clock_own((unsigned)clock_self));
    if (clock_machine.vcpu[clock_self].state == LOCKSTEP_RUN)
        clock_stop_soon();
}

static void signal_running(unsigned c, bool by_machine) {
    if (by_machine && clock_guest_started && clock_self != (int)c) {
        int by = sender();
        give_way();
        if (by >= 0) {
            lockstep_hand_over(&clock_machine, c, clock_machine.vcpu[c].time);
            clock_interrupt(c);
        }
        activity_interrupted(c, clock_machine.vcpu[c].time, by);
        outer_interrupted(c, by, clock_machine.vcpu[c].time);
    }
    if (!clock_vcpus[c].asleep || clock_vcpus[c].waiting || clock_machine.vcpu[c].state != LOCKSTEP_RUN)
        return;
    if (by_machine || !clock_guest_started)
        clock_vcpus[c].pending = true;
    else // it halts first: with one job after another it never would
        clock_errand_request(c);
}

bool clock_signal(void *condition, bool by_machine) {
    bool found = false, wanted = false;
    clock_lock();
    for (unsigned c = 0; c < clock_machine.count; c++) {
        bool on_errand = clock_vcpus[c].errand == CLOCK_ERRAND_ACTIVE && clock_vcpus[c].halt == condition;
        bool waits = clock_vcpus[c].waiting == condition || on_errand;
        if (waits && clock_machine.vcpu[c].state == LOCKSTEP_HALT) {
            if (!by_machine && clock_guest_started) {
                clock_errand_request(c);
                wanted = true;
                continue;
            }
            found = true;
            wake(c, clock_guest_started && clock_self >= 0 ? clock_own((unsigned)clock_self)
                                                           : clock_machine.now);
        } else if (clock_vcpus[c].halt == condition)
            signal_running(c, by_machine);
    }
    if (found && clock_guest_started) {
        clock_checks.signals++;
        give_way();
        clock_give_grants();
    }
    if (wanted)
        clock_give_grants();
    clock_unlock();
    return found;
}
