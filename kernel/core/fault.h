// Defects on demand: `fault=NAME` or `fault=NAME:N` on the command line. They exist to show that the gates
// and checks catch each of them. Without the word, each check with fault_is costs one load of a zero.
//
// Some are races: one step of a function is in the wrong place, and only a switch between two certain instructions
// shows it (docs/explore.md). Such a function has a wrong copy, compiled from the same lines where the compiler then
// leaves the right one as it was, and boot puts a jump to it over the first instruction of the right one. So without the
// word nothing is executed that would not be there otherwise: a check in as short a path as a wake-up would change its
// figures.
#ifndef CORE_FAULT_H
#define CORE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

enum fault {
    FAULT_NONE,
    FAULT_DROP_IPI,        // every Nth reschedule IPI is not sent
    FAULT_SKIP_SHOOTDOWN,  // other CPUs keep stale translations
    FAULT_WRONG_CHECKSUM,  // the worker that ends on CPU N reports a wrong value
    FAULT_LOST_WAKE,       // the Nth unpark that finds a waiter forgets it
    FAULT_UNBOUNDED_STEAL, // a search for work examines every queue, 64 times over
    FAULT_UNFAIR_WEIGHT,   // weights count squared
    FAULT_LOCK_HOLD,       // a queue's lock is held N us too long
    FAULT_IDLE_SPIN,       // idle CPUs spin instead of halting
    FAULT_PANIC,           // CPU N panics at its first thread
    // These have a wrong function in the place of a right one.
    FAULT_RACE,
    FAULT_CROWD,   // every thread runs on CPU N, whatever the others do
    FAULT_PLACING, // a thread waits where it need not
    FAULT_STANDS,  // a CPU does nothing while a thread could run
    FAULT_LATE_START,
};

// The lines of both copies; a first argument says which. And the wrong copy, which is behind all other code.
#define FAULT_LINES static inline __attribute__((always_inline))
#define FAULT_COPY __attribute__((section(".fault.text"), noinline))

extern enum fault fault_chosen;
extern uint64_t fault_value;

static inline bool fault_is(enum fault fault) {
    return CONFIG_CHECKS && __builtin_expect(fault_chosen == fault, 0);
}

// Whether the event with number `count`, from 1, is one of every N that the fault hits. N must not be 0.
static inline bool fault_is_nth(uint64_t count) {
    return count % fault_value == 0;
}

void fault_choose(const char *word); // boot; the value of `fault`, or NULL

#endif
