// Serial mode: one vCPU runs at a time, so all the machine's threads share one host CPU. To hand a turn over
// is then a switch between threads; to wake another CPU for it costs several times as much.
//
// That CPU may be wanted by others too. So it is looked at now and then what share of it the machine gets; if
// it is little, the threads float for a moment, and the host's scheduler finds them a better one. When and
// where they run does not reach the guest.
#ifndef PLACEMENT_H
#define PLACEMENT_H

void placement_setup(void);    // by the main thread, at load
unsigned placement_cpus(void); // how many host CPUs there are for the machine, at least 1
void placement_join(void);     // by a vCPU's thread, once
void placement_look(void);     // often, by one thread at a time, once the guest runs

#endif
