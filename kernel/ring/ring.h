// The kernel's side of a ring. The program may write anything into the page at any time, so the kernel keeps
// its own counts, copies a submission before it reads it, and masks indices. ring_take and ring_put touch
// nothing but the page and these counts; they also compile natively (host/).
#ifndef RING_RING_H
#define RING_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/abi.h"

struct ring_owner {
    struct ring *ring;     // address in the direct map
    uint32_t head, tail;   // submissions taken, completions written
    _Atomic uint32_t busy; // process's ring: a thread is draining it
};

void ring_open(struct ring_owner *owner, struct ring *page); // clears the page's counts
// 1: *to is a copy of the next submission, which is not taken yet; 0: there is none, or no room for its
// completion; -RING_EINVAL: the counts are impossible.
int ring_take(struct ring_owner *owner, struct ring_submission *to);
// Completes that submission: advances both counts.
void ring_put(struct ring_owner *owner, const struct ring_completion *completion);

// The enter call. May block; does not return if the process is killed (see ring/abi.h).
int64_t ring_enter(uint64_t min_complete, uint64_t timeout_ns, bool process_ring);

// Executes one operation. Result -RING_EAGAIN with wait->later set: it would have to wait, which is not
// allowed.
struct ring_wait {
    bool allowed;
    bool later;
    uint64_t deadline; // 0: none
};
void operation(const struct ring_submission *submission, struct ring_wait *wait,
               struct ring_completion *completion);

#endif
