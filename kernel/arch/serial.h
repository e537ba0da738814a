// The serial port COM1. Any context.
#ifndef ARCH_SERIAL_H
#define ARCH_SERIAL_H

#include <stddef.h>

void serial_init(void);
// Writes the text as one piece. While the window is open it goes to this CPU's buffer instead, and
// serial_flush, called by one CPU after it, writes what all have kept. Takes the serial lock.
void serial_write(const char *text, size_t length);
void serial_flush(void);
void serial_hold(int hold); // 1: the window is open
// Without the lock: for a panic.
void serial_write_now(const char *text, size_t length);

#endif
