// Errands: jobs that QEMU itself gives to the threads of halted vCPUs.
//
// QEMU's background threads (RCU) queue small jobs for vCPUs at times that the host chooses, and wake the
// vCPUs for them. For the lockstep machine the vCPU stays halted, or else a run would not repeat. While its
// thread is awake, an interrupt from another vCPU would reach it at once and not in its turn. So an errand
// starts only when every vCPU is stopped and the main loop does not work, and nothing is granted until it has
// ended. The machine's next turn comes before the next errands: a host may queue jobs faster than it lets the
// threads of vCPUs do them.
#include "clock_state.h"

void clock_errand_request(unsigned c) {
    struct clock_vcpu *v = &clock_vcpus[c];
    if (v->errand == CLOCK_ERRAND_NONE)
        v->errand = CLOCK_ERRAND_DUE;
    else if (v->errand == CLOCK_ERRAND_ACTIVE && v->asleep && !v->waiting) // it may have looked for jobs already
        v->pending = true;
}

static bool any(enum clock_errand errand) {
    for (unsigned c = 0; c < clock_machine.count; c++)
        if (clock_vcpus[c].errand == errand)
            return true;
    return false;
}

static uint64_t turns_when_started;

static uint64_t turns(void) {
    return clock_machine.grants + clock_machine.main_turns;
}

void clock_errands_start(void) {
    if (!any(CLOCK_ERRAND_DUE) || !lockstep_still(&clock_machine) || clock_machine.main == LOCKSTEP_MAIN_BUSY)
        return;
    turns_when_started = turns();
    for (unsigned c = 0; c < clock_machine.count; c++) {
        if (clock_vcpus[c].errand != CLOCK_ERRAND_DUE)
            continue;
        clock_vcpus[c].errand = CLOCK_ERRAND_ACTIVE;
        clock_checks.errands++;
        clock_release(c);
    }
}

bool clock_errands_block_grants(void) {
    if (any(CLOCK_ERRAND_ACTIVE))
        return true;
    if (!any(CLOCK_ERRAND_DUE) || turns() == turns_when_started)
        return false;
    clock_errands_start();
    return true;
}

bool clock_errand_active(unsigned c) {
    return clock_vcpus[c].errand == CLOCK_ERRAND_ACTIVE && clock_machine.vcpu[c].state == LOCKSTEP_HALT;
}
