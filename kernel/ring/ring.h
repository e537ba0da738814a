// The kernel's side of a ring. The page is shared with a program that may write anything into it at any
// time: the kernel's own counts live here, a submission is copied once before it is looked at, and indices
// are masked. ring_take and ring_put are pure but for the page; they also compile natively (host/).
#ifndef RING_RING_H
#define RING_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/abi.h"

struct ring_owner {
    struct ring *ring;     // through the direct map
    uint32_t head, tail;   // submissions taken, completions written
    _Atomic uint32_t busy; // the process's ring: somebody drains it
};

void ring_open(struct ring_owner *owner, struct ring *page); // clears the page's counts
// 1: *to is the next submission, not yet taken; 0: there is none, or no room for its completion;
// -RING_EINVAL: the counts cannot be.
int ring_take(struct ring_owner *owner, struct ring_submission *to);
// The submission is done: moves both counts on.
void ring_put(struct ring_owner *owner, const struct ring_completion *completion);

// The enter call. May block; may not come back (see ring/abi.h).
int64_t ring_enter(uint64_t min_complete, uint64_t timeout_ns, bool process_ring);

// One operation. Result -RING_EAGAIN with wait->later set: it would have to wait, and that is not allowed.
struct ring_wait {
    bool allowed;
    bool later;
    uint64_t deadline; // 0: none
};
void operation(const struct ring_submission *submission, struct ring_wait *wait,
               struct ring_completion *completion);

#endif
