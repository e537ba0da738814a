// See memory_queue.h.
#include "memory_queue.h"

#include <stdlib.h>
#include <string.h>

#define WORDS (MEMORY_QUEUE_SLOTS / 64)

bool memory_queue_setup(struct memory_queue *q, uint64_t slot_ps) {
    q->slot_ps = slot_ps;
    q->end = MEMORY_QUEUE_SLOTS;
    q->taken = calloc(WORDS, sizeof *q->taken);
    return q->taken != NULL;
}

void memory_queue_free(struct memory_queue *q) {
    free(q->taken);
}

// Lets the ring end behind this slot. The slots that come into it are free.
static void advance(struct memory_queue *q, uint64_t slot) {
    uint64_t word = q->end / 64, last = slot / 64;
    if (last - word >= WORDS)
        memset(q->taken, 0, WORDS * sizeof *q->taken);
    else
        for (; word <= last; word++)
            q->taken[word % WORDS] = 0;
    q->end = (last + 1) * 64;
}

// The first free slot at or after a slot within the ring.
static uint64_t first_free(struct memory_queue *q, uint64_t slot) {
    for (;; slot = (slot / 64 + 1) * 64) {
        if (slot >= q->end)
            advance(q, slot);
        uint64_t free = ~q->taken[slot / 64 % WORDS] >> slot % 64;
        if (free)
            return slot + (uint64_t)__builtin_ctzll(free);
    }
}

uint32_t memory_queue_take(struct memory_queue *q, uint64_t now) {
    uint64_t at = now * 1000, slot = at / q->slot_ps;
    if (slot + MEMORY_QUEUE_SLOTS < q->end)
        return 0;
    slot = first_free(q, slot);
    q->taken[slot / 64 % WORDS] |= (uint64_t)1 << slot % 64;
    uint64_t begins = slot * q->slot_ps;
    return begins > at ? (uint32_t)((begins - at + 999) / 1000) : 0;
}
