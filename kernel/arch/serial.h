// The serial port COM1. Any context.
#ifndef ARCH_SERIAL_H
#define ARCH_SERIAL_H

#include <stddef.h>

void serial_init(void);
// Writes the text as one piece. While the timed window is open, the text goes into this CPU's buffer; after
// the window one CPU calls serial_flush, which writes all buffers. Takes the serial lock.
void serial_write(const char *text, size_t length);
void serial_flush(void);
void serial_hold(int hold); // 1: the window is open
// Takes no lock: for a panic.
void serial_write_now(const char *text, size_t length);

#endif
