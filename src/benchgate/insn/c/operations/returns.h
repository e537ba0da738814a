// Counts what system calls gave back, by number and vCPU, and of the bytes that they read how many another thread
// had written.
#ifndef RETURNS_H
#define RETURNS_H

#include <stdbool.h>
#include <stdint.h>

bool returns_setup(unsigned vcpus, bool has_objects); // false: no memory
void returns_succeeded(unsigned vcpu, uint64_t number, uint64_t value);
void returns_exchanged(unsigned vcpu, uint64_t number, uint64_t bytes);
void returns_unexchanged(void);   // of some bytes it is not known who wrote them
void returns_mark(unsigned kind); // of marks.h
void returns_announce(void);      // writes what is counted
void returns_report(bool is_work); // the counts of one window

#endif
