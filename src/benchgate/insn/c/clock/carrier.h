// Runs the vCPUs: one that waits gives its place to one that was released.
//
// QEMU makes a thread for each vCPU, but one runs at a time. So one thread, the carrier, runs all of them:
// a hand-over is a switch of contexts, which needs no help of the host. A vCPU's own thread leaves its
// context to the carrier when it first waits, and rests from then on: nothing needs it any more, not even
// in a process that the carrier forks. A vCPU waits in carrier_wait only, where it holds no lock of QEMU.
// Whatever else blocks it holds up all vCPUs, of which none could run anyway.
//
// Where contexts cannot be switched each vCPU keeps its own thread, which waits for a futex.
#ifndef CARRIER_H
#define CARRIER_H

#include "switch.h"

#include <stdbool.h>
#include <stddef.h>

// What the clock gives: its lock.
struct carrier_calls {
    void (*lock)(void), (*unlock)(void);
};

// `wanted`: fsbase, prctl or threads; NULL: the first of these that works here. Gives the reason if it
// cannot.
const char *carrier_setup(const char *wanted, const struct carrier_calls *calls);
const char *carrier_name(void); // of the way that is used

// With the lock held, on any thread: the vCPU goes on. It must wait, or be about to.
void carrier_release(unsigned vcpu);
// When the lock is free again: wakes the threads that need it for what this thread has released.
void carrier_wake(void);
// With the lock held, in the vCPU's context: returns when it was released. It may return for nothing.
void carrier_wait(unsigned vcpu);

enum switch_way carrier_way(void);
bool carrier_rests(long thread); // it was a vCPU's own, has left its context, and sleeps for ever
bool carrier_sleeps(void);       // the carrier runs no vCPU

#endif
