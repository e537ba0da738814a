// Declarations that the files of the Linux port share.
#ifndef BENCH_PORT_LINUX_H
#define BENCH_PORT_LINUX_H

#include "../../bench.h"

// 1: this is a guest, which takes the manifest from its kernel's command line and in which every task is
// known. 0: this is a process on a host (`native`), which takes the manifest from its arguments.
extern int port_is_guest;

// Reads bench.pin, a list such as 0,2: worker i runs on the i-th CPU, the coordinator on all of them. Called
// after the manifest has been read and before the first worker starts.
void pin_read(unsigned workers);

// Makes a channel of an open file that can be read and written: its number, or a negative error.
int port_channel_of(int file);

// Snapshots for --measure, both taken outside the window. port_report() prints the differences.
void measure_open(void);
void measure_close(void);

#endif
