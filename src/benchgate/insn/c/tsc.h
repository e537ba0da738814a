// The vCPU threads' reads of the host's TSC, which QEMU passes on as the guest's.
#ifndef TSC_H
#define TSC_H

const char *tsc_setup(void); // NULL, or why they cannot be trapped
void tsc_trap_this_thread(void);

#endif
