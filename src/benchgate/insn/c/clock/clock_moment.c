// A moment of the machine at which it can be forked, or goes on by other rules: where a vCPU's turn ends, or
// the main loop's. There every vCPU is stopped and the main loop sleeps, so that standing still changes nothing.
#define _GNU_SOURCE
#include "clock_state.h"

#include "journal.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t hold_at = LOCKSTEP_NEVER;
static bool held;
static struct clock_turn turn = {.at = LOCKSTEP_NEVER};

bool clock_turn_read(const char *text, struct clock_turn *into) {
    uint64_t *const fields[] = {&into->at, &into->seed, &into->quantum, &into->fine, &into->rush};
    for (size_t i = 0; i < 5; i++) {
        char *end;
        errno = 0;
        *fields[i] = strtoull(text, &end, 10);
        if (errno || end == text || *text == '-' || *end != (i < 4 ? ':' : 0))
            return false;
        text = end + 1;
    }
    return into->at && (!into->quantum || into->quantum >= 100) && (!into->fine || into->fine >= 100);
}

void clock_turn_at(const struct clock_turn *wanted) {
    turn = *wanted;
}

void clock_hold_at(uint64_t time) {
    clock_lock();
    hold_at = time;
    clock_unlock();
}

bool clock_held(void) {
    clock_lock();
    bool is_held = held;
    clock_unlock();
    return is_held;
}

static bool stands(void) {
    enum lockstep_main main = clock_machine.main;
    return (main == LOCKSTEP_MAIN_IDLE || main == LOCKSTEP_MAIN_WANTS) && lockstep_still(&clock_machine);
}

static void apply(void) {
    struct lockstep_rules *rules = &clock_machine.rules;
    rules->seed = turn.seed;
    rules->quantum = turn.quantum ? turn.quantum : rules->quantum;
    rules->fine = turn.fine ? turn.fine : rules->fine;
    rules->rush = turn.rush ? turn.rush : rules->rush;
    turn.at = LOCKSTEP_NEVER;
    journal_line("turned %llu %llu %llu %llu %llu", (unsigned long long)clock_machine.now, (unsigned long long)rules->seed,
                 (unsigned long long)rules->quantum, (unsigned long long)rules->fine, (unsigned long long)rules->rush);
}

bool clock_holds(void) {
    if (held || !stands())
        return held;
    held = clock_machine.now >= hold_at;
    if (held) {
        hold_at = LOCKSTEP_NEVER;
        clock_wake_main();
    } else if (clock_machine.now >= turn.at)
        apply();
    return held;
}

struct clock_moments clock_moments(void) {
    struct clock_moments result = {.now = clock_machine.now};
    for (unsigned c = 0; c < clock_machine.count; c++)
        if (clock_machine.vcpu[c].time > result.latest)
            result.latest = clock_machine.vcpu[c].time;
    return result;
}

void clock_go_on(void) {
    clock_lock();
    held = false;
    if (clock_machine.now >= turn.at && stands())
        apply();
    clock_give_grants();
    clock_unlock();
}
