// The rules of memory.h: who gets a line from where, as what, and what it costs. docs/memory-model.md.
#include "memory_late.h"
#include "memory_leave.h"
#include "memory_wait.h"

static struct memory_cache *first_of(const struct memory_access *a) {
    return a->kind == MEMORY_FETCH ? &a->cpu->code : &a->cpu->data;
}

static void note(const struct memory_access *a, struct memory_times *times) {
    if (memory_state_reads(a->kind))
        times->read = a->now;
    if (memory_state_writes(a->kind))
        times->written = a->now;
}

// The line comes into the L1, from the L2. The one that leaves stays in the L2; the directory learns its times.
static void fill_first(struct memory_access *a, uint64_t low) {
    struct memory_cache *first = first_of(a);
    struct memory_victim victim = memory_cache_fill(first, a->line, memory_key(a->line) | low);
    note(a, &first->first.times[memory_cache_set(first, a->line)]);
    if (victim.tag)
        memory_late_fold(memory_directory_at(&a->s->directory, memory_cache_line(victim.tag)), victim.times);
}

// This CPU's write makes it the owner and the last writer. All others have lost the line.
static void own(struct memory_access *a) {
    a->entry->owner = (uint16_t)(a->c + 1);
    a->entry->writer = (uint16_t)(a->c + 1);
    a->entry->written_at = a->now;
}

// ---- a line that is in none of this CPU's caches

static enum memory_class source(struct memory_access *a, uint32_t *queued) {
    struct memory_state *s = a->s;
    const struct memory_line *entry = a->entry;
    if (entry->owner) {
        memory_state_moved(a, MEMORY_MOVE_TRANSFER, a->line, a->c, entry->owner - 1u);
        return memory_state_distance(s, a->c, entry->owner - 1u);
    }
    if (entry->l3 & memory_state_bit(s, a->c)) {
        memory_state_moved(a, MEMORY_MOVE_L3, a->line, a->c, a->c);
        return MEMORY_L3;
    }
    if (entry->l3_dirty) {
        memory_state_moved(a, MEMORY_MOVE_L3_OUT, a->line, a->c, entry->writer - 1u);
        return memory_state_distance(s, a->c, s->leader[__builtin_ctzll(entry->l3)]);
    }
    memory_state_moved(a, MEMORY_MOVE_FILL, a->line, a->c, a->c);
    *queued = memory_wait_slot(a, a->line);
    return memory_state_range(s, a->line)->node == s->shape.cpu[a->c].node ? MEMORY_LOCAL : MEMORY_REMOTE;
}

static bool held_elsewhere(const struct memory_access *a) {
    for (uint32_t w = 0; w < a->s->directory.words; w++)
        if (a->entry->sharers[w])
            return true;
    return (a->entry->l3 & ~memory_state_bit(a->s, a->c)) != 0;
}

// The state with which a read gets a line. Those who have it may keep it.
static enum memory_mesi take_to_read(struct memory_access *a) {
    bool elsewhere = held_elsewhere(a);
    if (a->entry->owner)
        memory_leave_owner(a);
    memory_leave_modified(a);
    if (memory_state_third(a->s, a->c) && !(a->entry->l3 & memory_state_bit(a->s, a->c)))
        memory_leave_into_third(a, a->c, a->line, a->entry, MEMORY_S);
    memory_late_compare(a);
    if (!elsewhere)
        a->entry->owner = (uint16_t)(a->c + 1);
    return elsewhere ? MEMORY_S : MEMORY_E;
}

static enum memory_mesi take_to_write(struct memory_access *a) {
    memory_leave_others(a);
    memory_leave_thirds(a);
    memory_late_compare(a);
    own(a);
    return MEMORY_M;
}

// The host is asked for what is known of the line that will leave a set for this one.
static void expect_victim(const struct memory_access *a, const struct memory_cache *cache) {
    uint64_t last = memory_cache_set(cache, a->line) + cache->first.ways - 1;
    __builtin_prefetch(memory_directory_at(&a->s->directory, memory_cache_line(cache->first.tags[last])));
}

static uint32_t miss(struct memory_access *a) {
    struct memory_cache *third = memory_state_third(a->s, a->c);
    uint32_t queued = 0;
    expect_victim(a, &a->cpu->second);
    if (third)
        expect_victim(a, third);
    memory_wait_for_line(a);
    enum memory_class place = source(a, &queued);
    if (place == MEMORY_L3)
        memory_cache_use(third, a->line, memory_cache_find(third, a->line));
    enum memory_mesi state = memory_state_writes(a->kind) ? take_to_write(a) : take_to_read(a);
    memory_line_share(a->entry, a->c);
    uint64_t low = state | memory_late_look(a, state);
    memory_leave_second(a, memory_cache_fill(&a->cpu->second, a->line, memory_key(a->line) | low));
    fill_first(a, low);
    memory_wait_served(a, place);
    uint32_t service = a->s->latency[place] + memory_wait_for_copies(a, place);
    if (queued)
        service += memory_wait_count(a, MEMORY_QUEUE, queued);
    memory_wait_keep_busy(a, service);
    return a->waited + service - 1;
}

// ---- a line that is here

// A write to a line that this CPU holds S or E. The wait; all its copies are M.
static uint32_t make_writable(struct memory_access *a, enum memory_mesi state, enum memory_class place) {
    if (state == MEMORY_S) {
        a->books->count[MEMORY_UPGRADE]++;
        memory_wait_for_line(a);
        memory_leave_others(a);
    }
    memory_leave_thirds(a);
    memory_late_compare(a);
    own(a);
    uint64_t low = MEMORY_M | memory_late_look(a, MEMORY_M);
    memory_leave_as(&a->cpu->second, a->line, low);
    memory_leave_as(&a->cpu->data, a->line, low);
    memory_leave_as(&a->cpu->code, a->line, low);
    uint32_t more = memory_wait_for_copies(a, place);
    if (more)
        memory_wait_keep_busy(a, a->s->latency[place] + more);
    return a->waited + more;
}

// The wait beyond the latency of the place. `at` is where the place has the line.
static uint32_t use(struct memory_access *a, struct memory_cache *cache, uint64_t at,
                    enum memory_class place) {
    uint64_t tag = cache->first.tags[at];
    enum memory_mesi state = MEMORY_STATE_MESI(tag);
    bool becomes_m = memory_state_writes(a->kind) && state != MEMORY_M;
    memory_wait_served(a, place);
    if (!becomes_m && !(tag & MEMORY_LOOK))
        return 0;
    a->entry = memory_directory_at(&a->s->directory, a->line);
    if (becomes_m)
        return make_writable(a, state, place);
    memory_late_compare(a);
    cache->first.tags[at] = memory_key(a->line) | state | memory_late_look(a, state);
    return 0;
}

static uint32_t hit_first(struct memory_access *a, uint64_t at) {
    struct memory_cache *first = first_of(a);
    uint32_t stall = use(a, first, at, MEMORY_L1);
    note(a, &first->first.times[at]);
    return stall;
}

static uint32_t hit_second(struct memory_access *a, uint64_t at) {
    struct memory_cache *second = &a->cpu->second;
    at = memory_cache_use(second, a->line, at);
    uint32_t stall = use(a, second, at, MEMORY_L2);
    fill_first(a, second->first.tags[at] & (MEMORY_MESI | MEMORY_LOOK));
    return a->s->latency[MEMORY_L2] - 1 + stall;
}

static void expect_miss(const struct memory_state *s, const struct memory_state_cpu *cpu, unsigned c,
                        uint64_t line) {
    memory_cache_expect(&cpu->second, line);
    if (line < s->directory.count)
        __builtin_prefetch(memory_directory_at(&s->directory, line));
    if (s->shape.l3.sets)
        memory_cache_expect(&s->third[s->shape.cpu[c].cluster], line);
}

// Serves an access that the short path cannot serve.
static uint32_t access_at(struct memory *m, unsigned cpu, enum memory_kind kind, uint64_t line, uint64_t now,
                          uint64_t at) {
    struct memory_state *s = m->state;
    struct memory_access a = {
        .m = m, .s = s, .cpu = &s->cpu[cpu], .line = line, .now = now, .c = cpu, .kind = kind};
    uint32_t stall;
    a.books = &a.cpu->books[s->phase];
    if (at != MEMORY_CACHE_NONE) {
        stall = hit_first(&a, at);
    } else if ((at = memory_cache_find(&a.cpu->second, line)) != MEMORY_CACHE_NONE) {
        stall = hit_second(&a, at);
    } else if (memory_state_range(s, line)) {
        a.entry = memory_directory_at(&s->directory, line);
        stall = miss(&a);
    } else {
        a.books->outside++;
        return 0;
    }
    m->front[cpu].accesses[kind]++;
    if (kind == MEMORY_ATOMIC)
        stall += memory_wait_count(&a, MEMORY_ATOMICS, s->shape.atomic);
    return stall;
}

static void touch(struct memory_state *s, struct memory_state_cpu *c, uint64_t line) {
    if (memory_directory_touch(&s->directory, line) && memory_state_range(s, line))
        c->books[MEMORY_WINDOW].touched++;
}

// A line of the L1 that is made the most recent one may then be one for the short path.
uint32_t memory_access(struct memory *m, unsigned cpu, enum memory_kind kind, uint64_t line, uint64_t now) {
    struct memory_state_cpu *c = &m->state->cpu[cpu];
    struct memory_cache *first = kind == MEMORY_FETCH ? &c->code : &c->data;
    uint64_t at = memory_cache_find(first, line);
    m->late = 0;
    if (m->state->phase == MEMORY_WINDOW && kind != MEMORY_FETCH)
        touch(m->state, c, line);
    if (at == MEMORY_CACHE_NONE)
        expect_miss(m->state, c, cpu, line);
    else
        at = memory_cache_use(first, line, at);
    if (memory_hit(&m->front[cpu], kind, line, now))
        return 0;
    return access_at(m, cpu, kind, line, now, at);
}
