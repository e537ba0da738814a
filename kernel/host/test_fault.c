// Faults that can be decided without a machine: which reschedule IPIs fault=drop-ipi:N drops.
#include <stdbool.h>
#include <stddef.h>

#include "core/fault.h"
#include "host/host.h"

// The first 12 IPIs of one CPU under each N: x is dropped.
static const char *const dropped[] = {
    "xxxxxxxxxxxx", ".x.x.x.x.x.x", "..x..x..x..x", "...x...x...x", "....x....x..",
};

// The seed chooses N, so that a failure names it: seed 1 is N = 1, ..., seed 5 is N = 5, seed 6 is N = 1.
static int drops_every_nth_ipi(uint64_t seed) {
    uint64_t n = (seed - 1) % 5 + 1;
    bool right = true;
    fault_value = n;
    for (uint64_t ipi = 1; ipi <= 12; ipi++)
        right &= fault_is_nth(ipi) == (dropped[n - 1][ipi - 1] == 'x');
    fault_value = 0;
    NEED(right);
    return 0;
}

const struct check fault_checks[] = {{"fault-drop-ipi", drops_every_nth_ipi}, {NULL, NULL}};
