// See memory_late.h.
#include "memory_late.h"

// A copy that has been written is one of the last writer's: a write takes all others away.
void memory_late_fold(struct memory_line *entry, struct memory_times times) {
    entry->read_at = memory_state_latest(entry->read_at, times.read);
    entry->written_at = memory_state_latest(entry->written_at, times.written);
}

static void fold_copy(struct memory_line *entry, const struct memory_cache *cache, uint64_t line) {
    uint64_t at = memory_cache_find(cache, line);
    if (at != MEMORY_CACHE_NONE)
        memory_late_fold(entry, cache->first.times[at]);
}

void memory_late_fold_copies(struct memory_line *entry, const struct memory_state_cpu *cpu, uint64_t line) {
    fold_copy(entry, &cpu->data, line);
    fold_copy(entry, &cpu->code, line);
}

static void count(struct memory_access *a, uint64_t by, bool crossed) {
    struct memory_ordering *order = &a->s->order[a->s->phase];
    a->m->late = by;
    order->count++;
    order->crossed += crossed;
    order->total_ns += by;
    if (by > order->worst_ns) {
        order->worst_ns = by;
        order->worst_line = a->line;
    }
}

// A CPU's own last use is never later than `now`, so the directory need not know who read last.
void memory_late_compare(struct memory_access *a) {
    uint64_t read = memory_state_writes(a->kind) ? a->entry->read_at : 0;
    uint64_t other = memory_state_latest(a->entry->written_at, read);
    if (other > a->now)
        count(a, other - a->now, !memory_state_reads(a->kind) && read <= a->now);
}

// While a CPU holds a copy, what others did to the line does not change: they would need the copy.
unsigned memory_late_look(const struct memory_access *a, enum memory_mesi state) {
    uint64_t other = a->entry->written_at;
    if (state == MEMORY_M)
        other = memory_state_latest(other, a->entry->read_at);
    return other > a->now ? MEMORY_LOOK : 0;
}
