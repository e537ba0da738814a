// Formatted output. format() is pure; print() writes one line to the serial port (arch/serial.h describes its
// lock).
#ifndef CORE_PRINT_H
#define CORE_PRINT_H

#include <stdarg.h>
#include <stddef.h>

// Supports %s %c %d %u %x %lu %lx %%. Always NUL-terminates the text; returns its length.
size_t format(char *to, size_t size, const char *pattern, ...) __attribute__((format(printf, 3, 4)));
size_t format_list(char *to, size_t size, const char *pattern, va_list list);
void print(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

// Prints one line `panic: cpu=N why=...` and exits with EXIT_PANIC. Any context, any CPU; the first caller
// prints, all other CPUs stop.
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
