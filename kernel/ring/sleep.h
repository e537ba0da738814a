// Sleep: waits for a time. Each CPU keeps its sleepers in a queue of its own, and its timer ends their waits.
// Takes that queue's lock (park class).
#ifndef RING_SLEEP_H
#define RING_SLEEP_H

#include <stdint.h>

struct ring_wait;

// 0: the time has come. -RING_EAGAIN with wait->later set: it has not, and waiting is not allowed.
// -RING_ETIMEDOUT: the entry's own timeout came first. -RING_EINTR: the thread is being ended.
int sleep_until(uint64_t when, struct ring_wait *wait);

#endif
