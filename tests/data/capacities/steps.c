// One vCPU of some capacity, without QEMU: the clock's own files, with the stubs of tests/data/errands/jobs.c around
// them. The caller executes instructions by writing the vCPU's counter.
#include "clock_state.h"

#include <string.h>

extern uint64_t waited;  // instructions in loops that wait
extern uint64_t stalled; // waits for memory, in ns

void begin(unsigned capacity) {
    struct clock_options options = {.rules = {.count = 1, .quantum = 1000, .fine = 100, .rush = 1}};
    options.capacity[0] = capacity;
    memset(clock_vcpus, 0, sizeof clock_vcpus);
    stalled = 0;
    clock_setup(&options);
    lockstep_appear(&clock_machine, 0);
    lockstep_main_idle(&clock_machine, LOCKSTEP_NEVER);
    clock_set_budget(0, 0);
}

void execute(uint64_t count) {
    counter_write(0, counter_read(0) + count);
}

// Its access to memory takes so long, as in access.c.
void stall(uint64_t ns) {
    counter_write(0, counter_read(0) + clock_units(0, ns));
    stalled += ns;
}

bool at_limit(void) {
    return counter_read(0) >= COUNTER_TRIGGER;
}

// How many instructions it may execute in so many ns.
uint64_t granted(uint64_t ns) {
    clock_set_budget(0, ns);
    return COUNTER_TRIGGER - counter_read(0);
}

// Its turn ends after instructions that only wait: how the lockstep machine sees it.
int waits_for(uint64_t count) {
    execute(count);
    waited += count;
    clock_limit_reached(0, NULL);
    return clock_machine.vcpu[0].spins;
}
