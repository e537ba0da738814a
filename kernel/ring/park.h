// Park: waiting for a 32-bit word of user memory to change, as Franke, Russell and Kirkwood's futex (2002).
// A word is known by its physical address, so that it may be shared by processes. The word is compared
// under its bucket's lock, and unpark takes that lock after the word was changed: no wake-up is lost.
#ifndef RING_PARK_H
#define RING_PARK_H

#include <stdint.h>

struct ring_wait;

// word: through the direct map. 0 woken; -RING_EAGAIN: it is not `expected`, or (wait->later) it may not
// wait.
int park(uint64_t physical, const uint32_t *word, uint32_t expected, struct ring_wait *wait);
uint64_t unpark(uint64_t physical, uint64_t most); // how many were woken

#endif
