// Tells which lines of memory vCPUs contend for, from the accesses that were late and those that waited. Pure.
#ifndef CONTENTION_H
#define CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

// An access to a line at a vCPU's `time` was late, or only waited for memory. True if vCPUs contend for the line:
// it was late again and again, and still moves between them.
bool contention_at(uint64_t line, uint64_t time, bool late);

#endif
