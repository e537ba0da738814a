// Defects on demand: `fault=NAME` or `fault=NAME:N` on the command line. They exist so that the gates can
// be shown to catch each; without the word every check below is one load of a constant zero.
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
    FAULT_UNBOUNDED_STEAL, // a search for work looks at every queue, again and again
    FAULT_UNFAIR_WEIGHT,   // weights count as if all were the default's square
    FAULT_LOCK_HOLD,       // a queue's lock is held N us too long
    FAULT_IDLE_SPIN,       // idle CPUs spin instead of halting
    FAULT_PANIC,           // CPU N panics once it has work
};

extern enum fault fault_chosen;
extern uint64_t fault_value;

static inline bool fault_is(enum fault fault) {
    return CONFIG_CHECKS && __builtin_expect(fault_chosen == fault, 0);
}

void fault_choose(const char *command_line); // boot

#endif
