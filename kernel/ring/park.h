// Park: waiting for a 32-bit word of user memory to change, as Franke, Russell and Kirkwood's futex (2002).
// A word is known by its key, which nothing else ever has while somebody waits for it: not its page, which
// may be unmapped then and serve another process. The word is compared under its bucket's lock, and unpark
// takes that lock after the word was changed: no wake-up is lost.
#ifndef RING_PARK_H
#define RING_PARK_H

#include <stdint.h>

struct ring_wait;

// word: through the direct map. 0 woken; -RING_EAGAIN: it is not `expected`, or (wait->later) it may not
// wait.
int park(uint64_t key, const uint32_t *word, uint32_t expected, struct ring_wait *wait);
uint64_t unpark(uint64_t key, uint64_t most); // how many were woken

#endif
