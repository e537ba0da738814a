// The guest's console in the clock's log: when each of its lines ended, and what every vCPU had done by then.
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stddef.h>
#include <sys/uio.h>

void console_setup(unsigned vcpus); // without it nothing is written
// QEMU has written the first `length` bytes of these parts to the console.
void console_wrote(const struct iovec *parts, size_t length);
void console_report(void); // at exit: the same for a last line that has no end

#endif
