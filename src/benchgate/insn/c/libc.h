// What of libc the clock answers itself, at level full.
#ifndef LIBC_H
#define LIBC_H

#include <stdbool.h>

const char *libc_problem(void); // NULL, or why the clock cannot stand before libc here
void libc_activate(void);       // from now on; called in QEMU's main thread
bool libc_is_main(void);

#endif
