// The clock's log. Each line is written at once, so a killed QEMU leaves a log that is complete until then.
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_EXIT_STUCK 97   // the lockstep made no progress before its deadline
#define JOURNAL_EXIT_REFUSED 98 // this QEMU or host does not behave as the clock requires

bool journal_open(const char *path);
bool journal_again(void); // the log is empty again
void journal_headed(void); // its header is complete
// The log at `path`, which is this one, gets another header.
bool journal_head_again(const char *path, void (*write_header)(void));
// Returns the length of the line.
__attribute__((format(printf, 1, 2))) size_t journal_line(const char *format, ...);
// Writes the line `refused WHY` to the log and to stderr, and ends QEMU at once.
_Noreturn __attribute__((format(printf, 1, 2))) void journal_refuse(const char *format, ...);

#endif
