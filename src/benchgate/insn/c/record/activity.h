// Records what each vCPU did in the window, in columns of equal length, and which vCPU woke which: little
// enough for the log of every run. It only watches: nothing that the guest can see depends on it.
//
// Call with the clock's lock held.
#ifndef ACTIVITY_H
#define ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

// whole: the guest has no marks, so the run, which begins at `now`, is the window
void activity_setup(unsigned vcpus, bool whole, uint64_t now);
void activity_window(bool open, uint64_t time);  // the first of each counts

// The vCPU ran from `from` to `to`, and executed `worked` instructions outside loops that only wait.
void activity_ran(unsigned vcpu, uint64_t from, uint64_t to, uint64_t worked);
// The vCPU was halted from `from` to `to`, when `waker` woke it: a vCPU, or EVENTS_MACHINE (events.h).
void activity_slept(unsigned vcpu, uint64_t from, uint64_t to, int waker);
// The window closes at `to`: until then the vCPU runs, or is halted. All of its turn or halt is told later.
void activity_runs(unsigned vcpu, uint64_t from, uint64_t to, uint64_t worked);
void activity_rests(unsigned vcpu, uint64_t from, uint64_t to);
// `sender` interrupted the vCPU, which was running.
void activity_interrupted(unsigned vcpu, uint64_t time, int sender);

void activity_report(uint64_t end); // writes the lines of the log, at exit

#endif
