// See memory_wait.h.
#include "memory_wait.h"

#define MOST_BUSY 1000000000u // ns: a busy time that began before that is shortened

void memory_wait_served(struct memory_access *a, enum memory_class place) {
    a->books->count[place]++;
    a->books->stall_ns[place] += a->s->latency[place] - 1;
}

uint32_t memory_wait_count(struct memory_access *a, enum memory_class class, uint32_t ns) {
    a->books->count[class]++;
    a->books->stall_ns[class] += ns;
    return ns;
}

void memory_wait_for_line(struct memory_access *a) {
    const struct memory_line *entry = a->entry;
    uint64_t since = a->now - entry->busy_from;
    if (a->now >= entry->busy_from && since < entry->busy_ns)
        a->waited = memory_wait_count(a, MEMORY_BUSY, (uint32_t)(entry->busy_ns - since));
}

// Services without a gap between them are one time in which the line is busy.
void memory_wait_keep_busy(struct memory_access *a, uint32_t ns) {
    struct memory_line *entry = a->entry;
    if (a->waited) {
        entry->busy_ns += ns;
    } else if (a->now >= entry->busy_from) {
        entry->busy_from = a->now;
        entry->busy_ns = ns;
    }
    if (entry->busy_ns > MOST_BUSY) {
        entry->busy_from += entry->busy_ns - MOST_BUSY;
        entry->busy_ns = MOST_BUSY;
    }
}

uint32_t memory_wait_for_copies(struct memory_access *a, enum memory_class place) {
    uint32_t latency = a->s->latency[place], more = a->farthest > latency ? a->farthest - latency : 0;
    a->books->stall_ns[MEMORY_UPGRADE] += more;
    return more;
}

uint32_t memory_wait_slot(struct memory_access *a, uint64_t line) {
    if (!a->s->shape.bandwidth)
        return 0;
    return memory_queue_take(&a->s->queue[memory_state_range(a->s, line)->node], a->now + a->waited);
}
