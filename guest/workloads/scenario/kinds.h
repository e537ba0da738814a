// What the threads of a scenario do: rounds of turns, each with what its kind adds.
//
// Takes a worker's own state; gives how many rounds and turns it made, and its number, of which the oracle
// computes the right value from the turns. Every kind ends at `until`: who waits for another one is told.
#ifndef SCENARIO_KINDS_H
#define SCENARIO_KINDS_H

#include "plan.h"

enum kind { KIND_SPIN, KIND_SLEEP, KIND_BURST, KIND_PIPE, KIND_CHAIN, KIND_YIELD, KIND_FAULTS, KIND_CALLS };
#define KINDS (KIND_CALLS + 1)
#define PAGE_BYTES 4096u
#define THE_END UINT32_MAX // of a chain; the end of a pipe is message 0

struct worker {
    const struct plan_entry *group;
    uint64_t begin, until; // times of port_now()
    uint64_t rounds, turns, number;
    unsigned place, members;  // in its group
    struct bench_word *words; // of its group
    const int *channels;      // one to each member
};

static void one_round(struct worker *me) {
    uint64_t turns = plan_of(me->group, 'r');
    me->number = bench_turns(me->number, turns);
    me->turns += turns;
    me->rounds++;
}

static void sleep_to(const struct worker *me, uint64_t when) {
    port_sleep_until(when < me->until ? when : me->until);
}

static void touch(uint64_t pages) {
    char *at = port_private(pages * PAGE_BYTES);
    if (at == NULL)
        port_fail("no memory for fresh pages");
    for (uint64_t page = 0; page < pages; page++)
        *(volatile char *)(at + page * PAGE_BYTES) = 1;
    if (port_unmap(at, pages * PAGE_BYTES) != 0)
        port_fail("fresh pages could not be given back");
}

static void call(uint64_t count) {
    while (count-- != 0)
        (void)port_process();
}

// Kinds whose threads need nobody else.
static void alone(struct worker *me, enum kind kind) {
    uint64_t operand = plan_of(me->group, 'o'), length = plan_ticks(me->group, 'o'), due = me->begin;
    for (uint64_t now = port_now(); now < me->until; now = port_now()) {
        one_round(me);
        if (kind == KIND_SLEEP)
            sleep_to(me, port_now() + length);
        else if (kind == KIND_BURST)
            sleep_to(me, due += length);
        else if (kind == KIND_YIELD)
            port_yield();
        else if (kind == KIND_FAULTS)
            touch(operand);
        else if (kind == KIND_CALLS)
            call(operand);
    }
}

static void send_to(const struct worker *me, unsigned place, uint64_t message) {
    if (port_send(me->channels[place], &message, sizeof message) != 0)
        port_fail("a message of a pipe could not be sent");
}

static uint64_t received(const struct worker *me) {
    uint64_t message = 0;
    if (port_receive(me->channels[me->place], &message, sizeof message) != 0)
        port_fail("a message of a pipe did not come");
    return message;
}

// The even one of two begins and ends it, so both make as many rounds.
static void pipes(struct worker *me) {
    unsigned other = me->place ^ 1;
    if (me->place % 2 != 0) {
        while (received(me) != 0) {
            one_round(me);
            send_to(me, other, me->rounds);
        }
        return;
    }
    while (port_now() < me->until) {
        one_round(me);
        send_to(me, other, me->rounds);
        if (received(me) != me->rounds)
            port_fail("a message of a pipe came twice, or not at all");
    }
    send_to(me, other, 0);
}

// Round by round each thread is posted by the one before it. The first one begins, and any of them may end
// it.
static void chain(struct worker *me) {
    struct bench_word *mine = &me->words[me->place], *next = &me->words[(me->place + 1) % me->members];
    for (uint32_t round = 1;; round++) {
        bench_await(mine, me->place == 0 ? round - 1 : round);
        if (__atomic_load_n(&mine->is, __ATOMIC_ACQUIRE) == THE_END || port_now() >= me->until) {
            bench_post(next, THE_END);
            return;
        }
        one_round(me);
        bench_post(next, round);
    }
}

static void rounds(struct worker *me) {
    enum kind kind = (enum kind)plan_of(me->group, 'k');
    if (me->begin > port_now())
        sleep_to(me, me->begin);
    if (kind == KIND_PIPE)
        pipes(me);
    else if (kind == KIND_CHAIN)
        chain(me);
    else
        alone(me, kind);
}

#endif
