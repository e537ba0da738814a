// Releases what the lockstep machine grants, and waits for a grant.
#include "clock_state.h"

#include "carrier.h"

const char *clock_carries(const char *way) {
    return carrier_setup(way, &(struct carrier_calls){clock_lock, clock_unlock});
}

void clock_give_grants(void) {
    // Before the guest starts no time may pass: vCPU threads come up in an order that the host chooses.
    if (!clock_guest_started || clock_errands_block_grants() || clock_holds())
        return;
    struct lockstep_grants grants;
    lockstep_step(&clock_machine, &grants);
    clock_beat();
    for (unsigned i = 0; i < grants.count; i++)
        clock_release(grants.vcpu[i]);
    if (grants.main)
        clock_wake_main();
    if (!grants.count && !grants.main)
        clock_errands_start();
}

void clock_await_grant(unsigned c) {
    while (clock_machine.vcpu[c].state != LOCKSTEP_RUN && !clock_errand_active(c))
        carrier_wait(c);
}
