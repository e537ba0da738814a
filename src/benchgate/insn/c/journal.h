// The clock's log: one line at a time, written at once, so that a killed QEMU leaves all it had to say.
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdbool.h>

#define EXIT_STUCK 97   // the lockstep made no progress before its deadline
#define EXIT_REFUSED 98 // this QEMU does not behave as the clock needs

bool journal_open(const char *path);
__attribute__((format(printf, 1, 2))) void journal_line(const char *format, ...);
// One line `refused WHY`, on stderr too, and QEMU ends at once.
_Noreturn __attribute__((format(printf, 1, 2))) void journal_refuse(const char *format, ...);

#endif
