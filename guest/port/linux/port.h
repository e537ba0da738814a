// What the files of the Linux port share.
#ifndef BENCH_PORT_LINUX_H
#define BENCH_PORT_LINUX_H

#include "../../bench.h"

// 1: this is a guest, driven by its kernel's command line, where every task is known. 0: this is a process
// on somebody's host (`native`), driven by its arguments.
extern int port_is_guest;

// Reads bench.pin, a list such as 0,2: worker i runs on the i-th CPU, the coordinator on all of them.
// Called once the manifest has been read, before the first worker.
void pin_read(unsigned workers);
void pin_worker(unsigned worker);

// Snapshots for --measure, both taken outside the window: what was counted between them is port_report()'s.
void measure_open(void);
void measure_close(void);

#endif
