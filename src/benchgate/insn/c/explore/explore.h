// Decides where vCPUs are stalled, so that they meet in another order: the pure core of exploration.
//
// Takes what vCPUs do (a synchronising instruction, an interrupt, the instruction of the next stall) and
// gives stalls. It owns no thread, no lock and no clock. Instructions of a vCPU are counted from its start;
// `at` is how many it has begun before this one. All chance comes from the seed.
//
// While every other vCPU is halted no strategy stalls, and nothing counts. Points do what they say.
//
// Strategies
// - Sync: one in `one_in` synchronising instructions, by chance. In a quarter of the cases the stall comes
//   before it, in a quarter before the next one, else up to `reach` instructions later, where each doubling of
//   the distance is as likely.
// - Pct: probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized
//   Scheduler with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010). Each vCPU has a priority. At
//   `depth` - 1 of `steps` synchronising instructions, by chance, the one that executes it gets one below all
//   of these. At each synchronising instruction a vCPU is held while one with a higher priority neither halts
//   nor waits. A hold is several stalls, each twice as long as the one before. After `longest` it ends, and
//   those that it waited for hold up nobody until they halt or wait.
// - Anywhere: about `one_in` instructions lie between two stalls of a vCPU.
// - Interrupt: one in `one_in` interrupts, by chance. The one that is interrupted is stalled, or the one that
//   interrupts it, up to `reach` instructions later.
// - Place: one in `one_in` executions of the instructions at listed addresses, by chance. The stall comes
//   before the instruction, or up to `reach` later as for sync.
// - Points: those of a list.
#ifndef EXPLORE_H
#define EXPLORE_H

#include "lockstep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPLORE_MOST 20000 // points in a list, and stalls in the log
#define EXPLORE_DEPTH 16
#define EXPLORE_PLACES 16
#define EXPLORE_ADDRESS ((UINT64_C(1) << 54) - 1) // of an address only these bits count
#define EXPLORE_NEVER UINT64_MAX

enum explore_strategy {
    EXPLORE_SYNC,
    EXPLORE_PCT,
    EXPLORE_ANYWHERE,
    EXPLORE_INTERRUPT,
    EXPLORE_PLACE,
    EXPLORE_POINTS,
    EXPLORE_STRATEGIES
};
extern const char *const explore_name[EXPLORE_STRATEGIES];

struct explore_rules {
    enum explore_strategy strategy;
    uint64_t seed;
    uint64_t from, until; // guest time
    bool window;          // only within the marked window
    uint64_t one_in, reach, shortest, longest, depth, steps;
    size_t count;
    struct explore_point {
        unsigned vcpu;
        uint64_t at, ns; // 0 ns: only to be recorded
    } points[EXPLORE_MOST];
    size_t places;
    uint64_t place[EXPLORE_PLACES]; // addresses
};

struct explore_vcpu {
    uint64_t next;     // the instruction of its next stall, or EXPLORE_NEVER
    uint64_t drawn;    // how often it has drawn a chance
    size_t point;      // points: its next one
    uint64_t priority; // pct
    uint64_t held;     // pct: for how long, in this hold
    uint64_t piece;    // pct: the last stall of this hold
    bool endless;      // pct: a hold has run out while it was busy, which it still is
};

struct explore {
    struct explore_rules rules;
    unsigned vcpus;
    bool open;      // the marked window
    bool alone;     // every other vCPU is halted, so a stall changes no order
    uint64_t steps; // synchronising instructions in the range, while another vCPU was not halted
    uint64_t change[EXPLORE_DEPTH];
    struct explore_vcpu vcpu[LOCKSTEP_MAX];
};

// False with what is wrong in `problem`, if the file is not what base/exploration.py writes.
bool explore_read(FILE *in, struct explore_rules *rules, char *problem, size_t size);
// Call this when `rules` are set. Gives NULL, or why they do not fit this guest.
const char *explore_begin(struct explore *e, unsigned vcpus);

// Whether explore_synchronises is called before this instruction. `synchronises`: what it does by itself.
bool explore_meets(const struct explore *e, uint64_t pc, bool synchronises);
// The vCPU is about to execute an instruction that explore_meets, at its time `now`.
void explore_synchronises(struct explore *e, unsigned c, uint64_t at, uint64_t now);
// `sender` interrupts or wakes vCPU `c`; -1: a timer or a device. Each with the instructions it has begun.
void explore_interrupted(struct explore *e, unsigned c, uint64_t at, int sender, uint64_t sender_at,
                         uint64_t now);
uint64_t explore_next(const struct explore *e, unsigned c);
// The vCPU is about to execute instruction `at`, which is not before explore_next. True if it is stalled
// there, for `*ns`; after that it asks again. `busy`: by vCPU, whether it neither halts nor only waits; for pct.
bool explore_take(struct explore *e, unsigned c, uint64_t at, uint64_t now, const bool *busy, uint64_t *ns);

#endif
