// Errands: jobs that QEMU itself gives to the threads of halted vCPUs.
//
// QEMU's background threads (RCU) queue small jobs for vCPUs at times that the host chooses, and wake the
// vCPUs for them. For the lockstep machine the vCPU stays halted, or else a run would not repeat. While its
// thread is awake, an interrupt from another vCPU would reach it at once and not in its turn. So an errand
// starts only when every vCPU is stopped and the main loop does not work, and nothing is granted until it has
// ended.
#include "clock_state.h"

void clock_errand_request(unsigned c) {
    if (clock_vcpus[c].errand == CLOCK_ERRAND_NONE)
        clock_vcpus[c].errand = CLOCK_ERRAND_DUE;
}

static bool any(enum clock_errand errand) {
    for (unsigned c = 0; c < clock_machine.count; c++)
        if (clock_vcpus[c].errand == errand)
            return true;
    return false;
}

static void start_all(void) {
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
    if (!any(CLOCK_ERRAND_DUE))
        return false;
    if (lockstep_still(&clock_machine) && clock_machine.main != LOCKSTEP_MAIN_BUSY)
        start_all();
    return true;
}

bool clock_errand_active(unsigned c) {
    return clock_vcpus[c].errand == CLOCK_ERRAND_ACTIVE && clock_machine.vcpu[c].state == LOCKSTEP_HALT;
}
