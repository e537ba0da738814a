// Replaces a read of the TSC in QEMU's own code by a jump to code that asks the clock without a signal.
#ifndef THUNK_H
#define THUNK_H

#include <stdbool.h>
#include <stdint.h>

#define THUNK_RDTSC 2 // bytes
#define THUNK_RDTSCP 3

int thunk_length(const uint8_t *code); // of the rdtsc or rdtscp there; 0: neither
// Replaces the read at `site` in code that ends at `end`: from now on it calls `answer`. False if the code
// there has another shape, or the host forbids it: then nothing has changed. Call from one signal handler at
// a time, or several.
bool thunk_replace(uint8_t *site, const uint8_t *end, uint64_t (*answer)(void));
// Where a thread goes on that was stopped at `at`, a place that was replaced; NULL if it was not.
const uint8_t *thunk_resume(const uint8_t *at);

#endif
