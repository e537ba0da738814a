// What a scenario asks for, in the words of the planner (src/benchgate/features/scenarios/scenario.py).
//
// Takes the parameters p1 to p4, which are one text in pieces; gives its entries. An entry begins with a
// capital letter: G a group of threads, L the limits of a control group, E a change at some time. A number
// follows each small letter:
//
//   G   t threads  k kind  r turns of a round  o operand (us, or how many)  b, e begin and end (us)
//   E   t time (us)  g group, from 0, or l control group, from 1, or a CPU that goes (x) or comes back (u)
//   G E n nice + 20  s policy  y priority  m mask of CPUs  c control group, from 1
//   L E w weight  q quota (us)  d period (us)  m mask of CPUs
//
// Fails with a sentence for what is none of these.
#ifndef SCENARIO_PLAN_H
#define SCENARIO_PLAN_H

#include "work.h"

#define PLAN_GROUPS 8
#define PLAN_LIMITS 4
#define PLAN_CHANGES 16

struct plan_entry {
    uint32_t has; // bit n: a number follows the n-th letter
    int64_t of[26];
};

struct plan {
    unsigned groups, limits, changes;
    struct plan_entry group[PLAN_GROUPS], limit[PLAN_LIMITS], change[PLAN_CHANGES];
};

static inline int plan_has(const struct plan_entry *entry, char letter) {
    return entry->has >> (letter - 'a') & 1;
}

static inline uint64_t plan_of(const struct plan_entry *entry, char letter) {
    return (uint64_t)entry->of[letter - 'a'];
}

// Of CPUs that come and go only the programs of such plans have the code: each byte of a program counts in a
// guest's figures.
static inline int plan_moves_cpu(const struct plan_entry *entry) {
#ifdef BENCH_NEEDS_PLACEMENT
    return plan_has(entry, 'x') || plan_has(entry, 'u');
#else
    (void)entry;
    return 0;
#endif
}

static inline uint64_t plan_ticks(const struct plan_entry *entry, char letter) {
    return bench_ticks(plan_of(entry, letter) * 1000);
}

static struct plan_entry *plan_next(struct plan *plan, char kind) {
    if (kind == 'G' && plan->groups < PLAN_GROUPS)
        return &plan->group[plan->groups++];
    if (kind == 'L' && plan->limits < PLAN_LIMITS)
        return &plan->limit[plan->limits++];
    if (kind == 'E' && plan->changes < PLAN_CHANGES)
        return &plan->change[plan->changes++];
    return NULL;
}

// Takes one character after the other; `entry` and `letter` say where it stands.
static const char *plan_take(struct plan *plan, struct plan_entry **entry, char *letter, char c) {
    if (c >= 'A' && c <= 'Z') {
        *letter = 0;
        *entry = plan_next(plan, c);
        return *entry == NULL ? "the plan has an entry too many, or of no known kind" : NULL;
    }
    if (*entry == NULL)
        return "the plan begins with no entry";
    if (c >= 'a' && c <= 'z') {
        *letter = c;
        (*entry)->has |= 1u << (c - 'a');
        return NULL;
    }
    int64_t *number = *letter == 0 ? NULL : &(*entry)->of[*letter - 'a'];
    if (number == NULL || c < '0' || c > '9' || *number > INT64_MAX / 10 - 10)
        return "the plan has a number that cannot be read";
    *number = *number * 10 + (c - '0');
    return NULL;
}

static const char *plan_read(struct plan *plan) {
    static const char *const names[] = {"p1", "p2", "p3", "p4"};
    struct plan_entry *entry = NULL;
    char letter = 0;
    const char *wrong = NULL;
    for (unsigned i = 0; i < sizeof names / sizeof *names && !bench_param_is(names[i], "."); i++)
        for (const char *c = bench_param(names[i]); *c != 0 && wrong == NULL; c++)
            wrong = plan_take(plan, &entry, &letter, *c);
    return wrong;
}

#endif
