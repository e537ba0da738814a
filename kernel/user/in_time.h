// Whether waits end in time on a host that may be busy.
//
// Such a host makes every wait late, and a short one by the largest share. So where one is late, one that is
// ten times as long may be ten times as late: an error of the timer's rate shows in each of them, and a
// host's delay does not grow. On the instruction clock no wait is late, so that nothing longer is tried
// there.
#ifndef USER_IN_TIME_H
#define USER_IN_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define IN_TIME_TRIES 200 // a host that preempts the vCPU makes single waits late
#define IN_TIME_LENGTHS 3

enum wait_end { WAIT_IN_TIME, WAIT_LATE, WAIT_WRONG }; // wrong: too early, or with another result

// The end of the best of so many waits of that length.
typedef enum wait_end best_wait(uint64_t ns, uint64_t limit_ns, unsigned tries);

static inline bool in_time(best_wait *best, uint64_t ns, uint64_t limit_ns, bool grows) {
    enum wait_end end = WAIT_LATE;
    unsigned tries = IN_TIME_TRIES;
    for (unsigned i = 0; i < (grows ? IN_TIME_LENGTHS : 1) && end == WAIT_LATE; i++) {
        end = best(ns, limit_ns, tries);
        ns *= 10;
        limit_ns *= 10;
        tries /= 10;
    }
    return end == WAIT_IN_TIME;
}

#endif
