// The measure and balance lines of docs/wire.md, from the kernel's books.
#ifndef USER_REPORT_H
#define USER_REPORT_H

void report_books(void);

#endif
