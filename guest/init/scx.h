// A scheduler in BPF (sched_ext) that is in charge while the workload runs; only in the variant with BENCH_TUNED.
//
// The files of /scx are its program, its libraries, and `command`, its command line with one word on a line.
#pragma once

// Starts the program, and waits until its scheduler schedules everything. Returns 0 after saying why it does not.
int scx_start(void);

// Remembers what the kernel says of the scheduler, directly before the workload starts.
void scx_before(void);

// Prints that and what the kernel says now: `benchscx at=begin ...` and `benchscx at=end ...`. The host judges.
void scx_after(void);
