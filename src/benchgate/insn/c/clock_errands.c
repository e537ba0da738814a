// QEMU's own business with vCPUs that are halted.
//
// QEMU's background threads (RCU) give vCPUs small jobs at the host's times and wake them for it. The machine
// must not notice, or a run would not repeat: for it the vCPU stays halted. While its thread is off, what
// another vCPU sends it would reach it at once instead of in its turn. So it goes when every vCPU stands
// still and the main loop does not work, and nobody is let go before it is back.
#include "clock_state.h"

void errand_wanted(unsigned c) {
    if (vcpus[c].errand == ERRAND_NONE)
        vcpus[c].errand = ERRAND_DUE;
}

static bool any(enum clock_errand errand) {
    for (unsigned c = 0; c < machine.count; c++)
        if (vcpus[c].errand == errand)
            return true;
    return false;
}

static void send_all(void) {
    for (unsigned c = 0; c < machine.count; c++) {
        if (vcpus[c].errand != ERRAND_DUE)
            continue;
        vcpus[c].errand = ERRAND_OFF;
        clock_checks.errands++;
        let_go(c);
    }
}

bool errands_hold(void) {
    if (any(ERRAND_OFF))
        return true;
    if (!any(ERRAND_DUE))
        return false;
    if (lockstep_still(&machine) && machine.main != LOCKSTEP_MAIN_BUSY)
        send_all();
    return true;
}

bool on_errand(unsigned c) {
    return vcpus[c].errand == ERRAND_OFF && machine.vcpu[c].state == LOCKSTEP_HALT;
}
