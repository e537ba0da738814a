// See memory_leave.h.
#include "memory_leave.h"

#include "memory_late.h"
#include "memory_wait.h"

static void write_back(struct memory_access *a, enum memory_move_kind kind, uint64_t line, unsigned giver) {
    a->books->written_back++;
    memory_wait_slot(a, line); // nobody waits for it
    memory_state_moved(a, kind, line, giver, giver);
}

// ---- L3

static void evict_third(struct memory_access *a, unsigned c, uint64_t tag) {
    uint64_t line = memory_cache_line(tag);
    struct memory_line *entry = memory_directory_at(&a->s->directory, line);
    entry->l3 &= ~memory_state_bit(a->s, c);
    entry->l3_dirty = 0;
    if (MEMORY_STATE_MESI(tag) == MEMORY_M)
        write_back(a, MEMORY_MOVE_L3_BACK, line, c);
}

void memory_leave_into_third(struct memory_access *a, unsigned c, uint64_t line, struct memory_line *entry,
                             enum memory_mesi state) {
    struct memory_cache *third = memory_state_third(a->s, c);
    uint64_t at = memory_cache_find(third, line), tag = memory_key(line) | state;
    if (at != MEMORY_CACHE_NONE) {
        third->first.tags[memory_cache_use(third, line, at)] = tag;
    } else {
        struct memory_victim victim = memory_cache_fill(third, line, tag);
        if (victim.tag)
            evict_third(a, c, victim.tag);
    }
    entry->l3 |= memory_state_bit(a->s, c);
    entry->l3_dirty = state == MEMORY_M;
}

static void clean_third(struct memory_state *s, unsigned c, uint64_t line, struct memory_line *entry) {
    memory_leave_as(memory_state_third(s, c), line, MEMORY_S);
    entry->l3_dirty = 0;
}

// The own L3's copy stays, behind this CPU's.
void memory_leave_thirds(struct memory_access *a) {
    struct memory_state *s = a->s;
    uint64_t own = memory_state_bit(s, a->c);
    for (uint64_t others = a->entry->l3 & ~own; others; others &= others - 1) {
        unsigned cluster = (unsigned)__builtin_ctzll(others);
        uint32_t latency = s->latency[memory_state_distance(s, a->c, s->leader[cluster])];
        memory_cache_clear(&s->third[cluster], a->line);
        a->farthest = latency > a->farthest ? latency : a->farthest;
    }
    if (a->entry->l3_dirty && a->entry->l3 == own)
        clean_third(s, a->c, a->line, a->entry);
    a->entry->l3 &= own;
    a->entry->l3_dirty = 0;
}

void memory_leave_modified(struct memory_access *a) {
    struct memory_state *s = a->s;
    if (!a->entry->l3_dirty || a->entry->l3 == memory_state_bit(s, a->c))
        return;
    unsigned giver = s->leader[__builtin_ctzll(a->entry->l3)];
    clean_third(s, giver, a->line, a->entry);
    write_back(a, MEMORY_MOVE_L3_BACK, a->line, giver);
}

// ---- L2 and L1

// Modified data of this CPU's L2 goes to the L3, or without one to memory.
static void save(struct memory_access *a, unsigned c, uint64_t line, struct memory_line *entry) {
    if (!memory_state_third(a->s, c)) {
        write_back(a, MEMORY_MOVE_BACK, line, c);
        return;
    }
    a->books->written_back++;
    memory_state_moved(a, MEMORY_MOVE_BACK_L3, line, c, c);
    memory_leave_into_third(a, c, line, entry, MEMORY_M);
}

// Folds and clears all that this CPU has of the line, which has left its L2.
static void leave(struct memory_access *a, unsigned c, uint64_t line, struct memory_line *entry) {
    struct memory_state *s = a->s;
    memory_late_fold_copies(entry, &s->cpu[c], line);
    memory_cache_clear(&s->cpu[c].data, line);
    if (memory_cache_clear(&s->cpu[c].code, line) && s->code_hook)
        s->code_hook(s->code_data, c, line);
    memory_line_drop(entry, c);
    if (entry->owner == c + 1)
        entry->owner = 0;
}

void memory_leave_second(struct memory_access *a, struct memory_victim victim) {
    if (!victim.tag)
        return;
    uint64_t line = memory_cache_line(victim.tag);
    struct memory_line *entry = memory_directory_at(&a->s->directory, line);
    leave(a, a->c, line, entry);
    if (MEMORY_STATE_MESI(victim.tag) == MEMORY_M)
        save(a, a->c, line, entry);
}

static void invalidate(struct memory_access *a, unsigned c) {
    uint32_t latency = a->s->latency[memory_state_distance(a->s, a->c, c)];
    memory_cache_clear(&a->s->cpu[c].second, a->line);
    leave(a, c, a->line, a->entry);
    a->books->invalidations++;
    a->farthest = latency > a->farthest ? latency : a->farthest;
    memory_state_moved(a, MEMORY_MOVE_INVALIDATE, a->line, a->c, c);
}

void memory_leave_others(struct memory_access *a) {
    for (uint32_t w = 0; w < a->s->directory.words; w++) {
        uint64_t others = a->entry->sharers[w];
        if (w == a->c / 64)
            others &= ~((uint64_t)1 << a->c % 64);
        for (; others; others &= others - 1)
            invalidate(a, w * 64 + (unsigned)__builtin_ctzll(others));
    }
}

void memory_leave_owner(struct memory_access *a) {
    unsigned owner = a->entry->owner - 1u;
    struct memory_state_cpu *cpu = &a->s->cpu[owner];
    memory_late_fold_copies(a->entry, cpu, a->line);
    uint64_t tag = cpu->second.first.tags[memory_cache_find(&cpu->second, a->line)];
    uint64_t low = MEMORY_S | (tag & MEMORY_LOOK);
    memory_leave_as(&cpu->second, a->line, low);
    memory_leave_as(&cpu->data, a->line, low);
    memory_leave_as(&cpu->code, a->line, low);
    a->entry->owner = 0;
    if (MEMORY_STATE_MESI(tag) == MEMORY_M)
        save(a, owner, a->line, a->entry);
}
