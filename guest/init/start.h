// A warm start (docs/how-to/warm.md): the guest waits where a snapshot of it is taken. What differs from
// run to run arrives afterwards: the words of the kernel command line, and the files of the workload's archive.
#ifndef INIT_START_H
#define INIT_START_H

// Prints `benchwaits`, waits until QEMU has something to start, and puts it into place: the files into the root
// file system, the words over /proc/cmdline. NULL, or what went wrong.
const char *start_await(void);

#endif
