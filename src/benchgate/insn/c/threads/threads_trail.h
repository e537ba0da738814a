// The way to an event: return addresses on the stack of the vCPU, innermost first. Kernels have no frame pointers, so
// every value there that points behind a call of the kernel's text counts. One that remains of an earlier call may
// be among them.
#ifndef THREADS_TRAIL_H
#define THREADS_TRAIL_H

#include <stdint.h>

#define TRAIL_MOST 8

void trail_setup(uint64_t text_from, uint64_t text_to); // both 0: no trails
unsigned trail_here(unsigned vcpu, uint64_t *addresses); // their number

#endif
