// Only one vCPU runs at a time, so they share the first arguments.
#include "callees.h"

#include "clock.h"
#include "threads_guest.h"
#include "threads_hooks.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define MOST_DIFFERENT 256

static uint64_t arguments[MOST_DIFFERENT], begun[HOOKS_MOST][LOCKSTEP_MAX]; // 0: none

enum callees_deed callees_deed(const char *event) {
    static const char letters[] = "dbes";
    const char *found = event[1] == '_' ? strchr(letters, event[0]) : NULL;
    return found ? (enum callees_deed)(CALLEES_DIFFERS + (found - letters)) : CALLEES_HAPPENS;
}

static bool is_new(uint64_t argument) {
    unsigned i = 0;
    while (i < MOST_DIFFERENT && arguments[i] && arguments[i] != argument)
        i++;
    bool is_it = i < MOST_DIFFERENT && !arguments[i];
    if (is_it)
        arguments[i] = argument;
    return is_it;
}

uint64_t callees_count(enum callees_deed deed, unsigned pair, unsigned vcpu) {
    uint64_t since = begun[pair][vcpu], executed = clock_executed(vcpu);
    if (deed == CALLEES_DIFFERS)
        return is_new(guest_argument(vcpu, 0));
    begun[pair][vcpu] = deed == CALLEES_BEGINS ? executed : 0;
    return deed == CALLEES_ENDS && since ? executed - since : 0;
}
