// Logs when each line of the guest's console ended, and what every vCPU had done by then.
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

void console_setup(unsigned vcpus);   // without it the log gets no lines
void console_begins(uint64_t printed); // the guest was restored; so many bytes came before
// QEMU has written the first `length` bytes of these parts to the console.
void console_wrote(const struct iovec *parts, size_t length);
// A vCPU stops, or the main loop has its turn: the guest may have prompted since the last look (polls.h).
void console_look(void);
uint64_t console_bytes(void); // so far
uint64_t console_last(void);  // when the last of them was printed
void console_report(void);    // at exit: the same for a last line that has no end

#endif
