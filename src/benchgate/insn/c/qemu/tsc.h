// Traps the vCPU threads' reads of the host's TSC, which QEMU passes on to the guest.
#ifndef TSC_H
#define TSC_H

#include <stdbool.h>

// NULL, or the reason why they cannot be trapped. `guest_clock`: a guest that polls its clock reads the TSC.
const char *tsc_setup(bool guest_clock);
void tsc_trap_this_thread(void);

#endif
