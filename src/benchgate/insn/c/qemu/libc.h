// The libc functions that the clock answers itself.
#ifndef LIBC_H
#define LIBC_H

#include <stdbool.h>
#include <stdint.h>

const char *libc_problem(void); // NULL, or the reason why the clock cannot replace these functions
void libc_activate(void);       // call in QEMU's main thread
void libc_restart(uint64_t moved); // the machine's time is so much later now, and QEMU sees no change
bool libc_is_main(void);

#endif
