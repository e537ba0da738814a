// Prints the measure and balance lines of docs/wire.md from what the kernel counted.
#ifndef USER_REPORT_H
#define USER_REPORT_H

void report_books(void);

#endif
