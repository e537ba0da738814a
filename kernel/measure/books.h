// The time accounting of threads that ended while the window was open, and the samples of user code
// addresses.
#ifndef MEASURE_BOOKS_H
#define MEASURE_BOOKS_H

#include <stdbool.h>
#include <stdint.h>

// Whether the end of a thread is recorded: with measure=1, or by core/program.h.
extern bool books_on;

void books_clear(void); // the window opens
int64_t books_read(uint64_t index, uint64_t field);
int64_t books_sample(uint64_t cpu, uint64_t index);

#endif
