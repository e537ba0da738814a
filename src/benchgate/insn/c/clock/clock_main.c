// The main thread's side: it sleeps until the next timer, works, or waits for the vCPUs.
#include "clock_state.h"

#include "journal.h"

static uint64_t notifications; // guarded by the lock

uint64_t clock_notifications(void) {
    clock_lock();
    uint64_t n = notifications;
    clock_unlock();
    return n;
}

bool clock_main_idle(uint64_t deadline, uint64_t seq) {
    clock_lock();
    bool idle = seq == notifications;
    if (idle) {
        lockstep_main_idle(&clock_machine, deadline);
        clock_give_grants();
    }
    clock_unlock();
    return idle;
}

bool clock_main_may_work(void) {
    clock_lock();
    bool may = clock_machine.main == LOCKSTEP_MAIN_BUSY;
    clock_unlock();
    return may;
}

// As before the guest's first instruction: QEMU may do what it likes, and no time passes.
void clock_pause(void) {
    clock_lock();
    if (!clock_is_halted())
        journal_refuse("the host pauses a guest whose CPUs are not all halted");
    for (unsigned c = 0; c < clock_machine.count; c++)
        clock_forget_turn(c);
    clock_guest_started = false;
    clock_unlock();
}

void clock_main_asks(bool asks) {
    clock_lock();
    clock_main_asked = asks;
    clock_unlock();
}

uint64_t clock_halted_since(void) {
    static uint64_t seen, since;
    uint64_t executed = 0, latest = 0;
    clock_lock();
    for (unsigned c = 0; c < clock_machine.count; c++) {
        executed += clock_executed(c);
        if (clock_machine.vcpu[c].time > latest)
            latest = clock_machine.vcpu[c].time;
    }
    if (executed != seen)
        since = latest;
    seen = executed;
    bool halted = clock_is_halted();
    clock_unlock();
    return halted ? since : LOCKSTEP_NEVER;
}

void clock_main_wants(void) {
    clock_lock();
    if (clock_machine.main == LOCKSTEP_MAIN_IDLE) {
        lockstep_main_wants(&clock_machine);
        clock_give_grants();
    }
    clock_unlock();
}

void clock_main_blocks(bool blocks) {
    clock_lock();
    if (blocks && clock_guest_started)
        lockstep_main_blocks(&clock_machine);
    else
        lockstep_main_works(&clock_machine);
    clock_give_grants();
    clock_unlock();
}

void clock_notify(void) {
    clock_lock();
    notifications++;
    clock_checks.notes++;
    if (clock_machine.main == LOCKSTEP_MAIN_IDLE) {
        lockstep_main_wants(&clock_machine);
        clock_give_grants();
    }
    if (clock_machine.vcpu[clock_self].state == LOCKSTEP_RUN)
        clock_stop_soon(); // it may just have set a timer that is due before its limit
    clock_unlock();
}
