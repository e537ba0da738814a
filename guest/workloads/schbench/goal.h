// Goals: how many requests a second, each message thread's share of them, and the next goal of auto_rps.
#ifndef SCHBENCH_GOAL_H
#define SCHBENCH_GOAL_H

#include <stdint.h>

// Divides `whole` among parts in proportion to their weights: part i is what lies between share(before) and
// share(before + weight). Whatever the weights, the parts sum to the whole.
static inline uint64_t goal_share(uint64_t whole, uint64_t before, uint64_t weight, uint64_t weights) {
    return whole * (before + weight) / weights - whole * before / weights;
}

// A goal that halves the distance to the target, given that `busy` of 1000 parts of all CPUs were used. It
// changes by a factor of 2 at most and is never 0: from 0, no factor leads back once a neighbour has left. While
// requests queue, more of them would not use more CPU time: the goal then falls slowly, until the queue is gone.
static inline uint64_t goal_next(uint64_t goal, uint64_t busy, uint64_t target, int queueing) {
    uint64_t aim = goal * target / (busy == 0 ? 1 : busy);
    if (aim > 3 * goal)
        aim = 3 * goal;
    if (queueing && aim > goal - goal / 8)
        aim = goal - goal / 8;
    if (aim > goal)
        return goal + (aim - goal + 1) / 2;
    goal -= (goal - aim) / 2;
    return goal == 0 ? 1 : goal;
}

#endif
