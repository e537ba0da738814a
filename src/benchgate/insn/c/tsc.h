// Level full: traps the vCPU threads' reads of the host's TSC, which QEMU passes on to the guest.
#ifndef TSC_H
#define TSC_H

const char *tsc_setup(void); // NULL, or the reason why they cannot be trapped
void tsc_trap_this_thread(void);

#endif
