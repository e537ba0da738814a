// Phases and books; what costs a fixed time: page walks and interrupts; hooks; looks into caches.
#include "memory_state.h"

const char *const memory_kind_name[MEMORY_KINDS] = {"read", "fetch", "write", "atomic"};
const char *const memory_phase_name[MEMORY_PHASES] = {"boot", "window"};
const char *const memory_class_name[MEMORY_CLASSES] = {
    [MEMORY_L1] = "l1",
    [MEMORY_L2] = "l2",
    [MEMORY_L3] = "l3",
    [MEMORY_LOCAL] = "local",
    [MEMORY_REMOTE] = "remote",
    [MEMORY_CLUSTER] = "transfer_cluster",
    [MEMORY_ACROSS] = "transfer_across",
    [MEMORY_SOCKET] = "transfer_socket",
    [MEMORY_UPGRADE] = "upgrade",
    [MEMORY_BUSY] = "busy",
    [MEMORY_QUEUE] = "queue",
    [MEMORY_ATOMICS] = "atomic",
    [MEMORY_WALK] = "walk",
    [MEMORY_INTERRUPT] = "interrupt",
};

uint32_t memory_walk(struct memory *m, unsigned cpu, bool code, uint64_t page) {
    struct memory_state *s = m->state;
    struct memory_state_cpu *c = &s->cpu[cpu];
    if (!s->shape.tlb_entries || memory_tlb_use(code ? &c->code_tlb : &c->data_tlb, page))
        return 0;
    c->books[s->phase].count[MEMORY_WALK]++;
    c->books[s->phase].stall_ns[MEMORY_WALK] += s->shape.tlb_walk;
    return s->shape.tlb_walk;
}

void memory_flush(struct memory *m, unsigned cpu) {
    if (!m->state->shape.tlb_entries)
        return;
    memory_tlb_flush(&m->state->cpu[cpu].data_tlb);
    memory_tlb_flush(&m->state->cpu[cpu].code_tlb);
}

uint32_t memory_interrupt(struct memory *m, unsigned cpu) {
    struct memory_state *s = m->state;
    struct memory_books *books = &s->cpu[cpu].books[s->phase];
    books->count[MEMORY_INTERRUPT]++;
    books->stall_ns[MEMORY_INTERRUPT] += s->shape.interrupt;
    return s->shape.interrupt;
}

static void collect(struct memory *m) {
    struct memory_state *s = m->state;
    for (uint32_t c = 0; c < s->shape.cpus; c++)
        for (int k = 0; k < MEMORY_KINDS; k++) {
            s->cpu[c].books[s->phase].accesses[k] += m->front[c].accesses[k];
            m->front[c].accesses[k] = 0;
        }
}

void memory_set_phase(struct memory *m, enum memory_phase phase) {
    collect(m);
    m->state->phase = phase;
}

// The short path does not count hits of L1: they are what is left.
struct memory_books memory_books_of(struct memory *m, enum memory_phase phase, unsigned cpu) {
    collect(m);
    struct memory_books books = m->state->cpu[cpu].books[phase];
    books.count[MEMORY_L1] = 0;
    for (int k = 0; k < MEMORY_KINDS; k++)
        books.count[MEMORY_L1] += books.accesses[k];
    for (int place = MEMORY_L1 + 1; place < MEMORY_PLACES; place++)
        books.count[MEMORY_L1] -= books.count[place];
    return books;
}

struct memory_ordering memory_order_of(const struct memory *m, enum memory_phase phase) {
    return m->state->order[phase];
}

void memory_on_move(struct memory *m, memory_hook *hook, void *data) {
    m->state->hook = hook;
    m->state->hook_data = data;
}

void memory_on_code_lost(struct memory *m, memory_code_hook *hook, void *data) {
    m->state->code_hook = hook;
    m->state->code_data = data;
}

static enum memory_mesi held(const struct memory_cache *cache, uint64_t line) {
    uint64_t at = memory_cache_find(cache, line);
    return at == MEMORY_CACHE_NONE ? MEMORY_I : MEMORY_STATE_MESI(cache->first.tags[at]);
}

enum memory_mesi memory_held(const struct memory *m, unsigned cpu, uint64_t line) {
    return held(&m->state->cpu[cpu].second, line);
}

enum memory_mesi memory_held_l3(const struct memory *m, unsigned cpu, uint64_t line) {
    const struct memory_cache *third = memory_state_third(m->state, cpu);
    return third ? held(third, line) : MEMORY_I;
}
