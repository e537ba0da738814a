// Park: waits for a 32-bit word of user memory to change, like the futex of Franke, Russell and Kirkwood
// (2002). A word is identified by a key, which no other word has while a thread waits for it. Its physical
// page would not do: that may be unmapped meanwhile and given to another process. A thread enters its
// bucket's queue before it compares the word, and unpark looks at the queue after the word was changed, so no
// wake-up is lost. park takes no lock, unless the word changed meanwhile; unpark takes that of the bucket if
// somebody may wait there.
#ifndef RING_PARK_H
#define RING_PARK_H

#include <stdint.h>

struct ring_wait;

// `word` is an address in the direct map. 0: woken. -RING_EAGAIN: the word is not `expected`, or (with
// wait->later set) waiting is not allowed.
int park(uint64_t key, const uint32_t *word, uint32_t expected, struct ring_wait *wait);
uint64_t unpark(uint64_t key, uint64_t most); // returns how many were woken
uint64_t unpark_late(uint64_t key, uint64_t most), unpark_asleep(uint64_t key, uint64_t most); // core/fault.h
uint64_t unpark_rest_late(uint64_t key, uint64_t most);
int park_asleep(uint64_t key, const uint32_t *word, uint32_t expected, struct ring_wait *wait);

#endif
