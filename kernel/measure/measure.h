// Attribution, enabled by measure=1: what each CPU and each thread did in each phase of the window. Owns the
// snapshots of the counters; measure/books.h has the rest. Programs read everything with the read call after
// the window; user/report.c prints it.
#ifndef MEASURE_MEASURE_H
#define MEASURE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

extern bool measure_on;

// The window call, enum ring_window. While the window is open, the kernel's own messages are buffered in
// memory.
int64_t measure_window(uint64_t what);
bool measure_window_open(void);

// The read call, enum ring_number. -RING_EINVAL: there is no such number or index.
int64_t measure_read(uint64_t which, uint64_t index, uint64_t further);

void measure_sample(uint64_t ip);                       // timer interrupt in user mode
void measure_thread_ended(const struct thread *thread); // its accounting is complete

#endif
