// Defects on demand: `fault=NAME` or `fault=NAME:N` on the command line. They exist to show that the gates
// and checks catch each of them. Without the word, each check below costs one load of a zero.
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
};

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
