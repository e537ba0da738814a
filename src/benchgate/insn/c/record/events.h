// Every turn, halt, wake-up and interrupt of the window, in a file of its own. Only on request, in a replay.
// Call with the clock's lock held.
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#define EVENTS_MACHINE (-1) // a waker or sender that is no vCPU: a timer or a device

const char *events_setup(const char *path, unsigned vcpus, bool whole); // NULL, or why it cannot be written
void events_window(bool open, uint64_t time);
void events_ran(unsigned vcpu, uint64_t from, uint64_t to, uint64_t worked);
void events_slept(unsigned vcpu, uint64_t from, uint64_t to, int waker);
void events_rests(unsigned vcpu, uint64_t from, uint64_t to);
void events_interrupted(unsigned vcpu, uint64_t time, int sender);
void events_report(uint64_t end);

#endif
