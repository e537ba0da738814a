// Connects talk.c to the host, by a socket, and to the guest, by a pipe that takes the place of
// QEMU's standard input. Without typist_setup nothing here does anything.
#ifndef TYPIST_H
#define TYPIST_H

#include "clock.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

// `start`: where a restored guest begins; `begins` is called then. NULL, or why nothing can be typed.
const char *typist_setup(int socket, unsigned vcpus, struct clock_moment start, void (*begins)(void));
void typist_restart(struct clock_moment start); // it begins elsewhere
// In the main thread, before the guest has started or while it is paused: the host may let it begin.
void typist_begin(void);
void typist_heard(void);              // the guest has printed; in the thread that printed

// Call this in the main thread, while every vCPU is stopped.
void typist_type(void);     // QEMU can then read the bytes that are due
uint64_t typist_next(void); // when the main loop must look again
// If the guest must stop now, waits until the host has answered or one of QEMU's own descriptors is ready.
// True if it stopped, so that the main loop must look again.
bool typist_stop(struct pollfd *fds, nfds_t count, const sigset_t *mask);

#endif
