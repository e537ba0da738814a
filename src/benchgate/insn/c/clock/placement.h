// Chooses the host CPU for QEMU's threads. One vCPU runs at a time, so all threads share one host
// CPU. A hand-off is then a switch between threads; to wake another host CPU costs several times as much.
//
// Other processes may need the same host CPU. So QEMU's share of it is checked from time to time. If the
// share is small, the threads may run anywhere for a moment, and the host's scheduler finds a better CPU.
// When and where they run does not affect the guest.
#ifndef PLACEMENT_H
#define PLACEMENT_H

void placement_setup(void);    // by the main thread, when the plugin is loaded
void placement_join(void);     // by a vCPU's thread, once
void placement_look(void);     // frequently, by one thread at a time, once the guest runs

#endif
