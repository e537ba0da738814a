// Text. format() is pure; print() writes one line to the serial port, see arch/serial.h for its lock.
#ifndef CORE_PRINT_H
#define CORE_PRINT_H

#include <stdarg.h>
#include <stddef.h>

// Knows %s %c %d %u %x %lu %lx %%. Always ends the text with NUL; returns its length.
size_t format(char *to, size_t size, const char *pattern, ...) __attribute__((format(printf, 3, 4)));
size_t format_list(char *to, size_t size, const char *pattern, va_list list);
void print(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

// One line `panic: cpu=N why=... `, then the machine is left with EXIT_PANIC. Any context, any CPU; the
// first one wins, the others stop.
_Noreturn void panic(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void machine_exit(unsigned value);

#if __STDC_HOSTED__ == 0
#include "config.h"
#define assert(condition)                                                                                    \
    do {                                                                                                     \
        if (CONFIG_CHECKS && !(condition))                                                                   \
            panic("why=assert file=%s line=%d", __FILE__, __LINE__);                                         \
    } while (0)
#else
#include <assert.h>
#endif

#endif
