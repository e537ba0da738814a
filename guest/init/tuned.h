// What a system's settings change in a guest, and what the kernel says of it; only in the variant with BENCH_TUNED.
//
// The lines of /settings are files of the kernel: `SETTING FILE VALUE` is written, `SETTING FILE` has its value from
// the command line.
// With /scx a scheduler in BPF takes charge besides (scx.h).
#pragma once

// Makes the settings. Returns 0 after saying why one of them cannot be made.
int tuned_start(void);

// Reads all files, directly before the workload starts.
void tuned_before(void);

// Prints that and what they say now: `benchset at=begin FILE = TEXT`, and so on. The host judges.
void tuned_after(void);
