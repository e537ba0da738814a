// Shared by the model's files only: the state behind struct memory, and an access on its way through it.
#ifndef MEMORY_STATE_H
#define MEMORY_STATE_H

#include "memory_cache.h"
#include "memory_directory.h"
#include "memory_queue.h"
#include "memory_tlb.h"

#define MEMORY_STATE_MESI(tag) ((enum memory_mesi)((tag)&MEMORY_MESI))

struct memory_state_cpu {
    struct memory_cache data, code, second;
    struct memory_tlb data_tlb, code_tlb;
    struct memory_books books[MEMORY_PHASES];
};

struct memory_state {
    struct memory_shape shape;
    struct memory_directory directory;
    struct memory_state_cpu *cpu;
    struct memory_cache third[MEMORY_CLUSTERS];
    unsigned leader[MEMORY_CLUSTERS]; // a CPU of the cluster
    struct memory_queue queue[MEMORY_NODES];
    uint32_t latency[MEMORY_PLACES];
    enum memory_phase phase;
    struct memory_ordering order[MEMORY_PHASES];
    memory_hook *hook;
    void *hook_data;
    memory_code_hook *code_hook;
    void *code_data;
};

// One call of memory_access.
struct memory_access {
    struct memory *m;
    struct memory_state *s;
    struct memory_state_cpu *cpu;
    struct memory_books *books;
    struct memory_line *entry; // of the directory
    uint64_t line, now;
    uint32_t c; // the CPU
    enum memory_kind kind;
    uint32_t waited;   // for the line, while another CPU was being served
    uint32_t farthest; // the latency of the farthest copy that is taken away
};

static inline uint64_t memory_state_latest(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline bool memory_state_reads(enum memory_kind kind) {
    return kind != MEMORY_WRITE;
}

static inline bool memory_state_writes(enum memory_kind kind) {
    return kind >= MEMORY_WRITE;
}

// NULL: the line is not in the machine's memory.
static inline const struct memory_range *memory_state_range(const struct memory_state *s, uint64_t line) {
    uint64_t address = line * s->shape.line;
    for (uint32_t i = 0; i < s->shape.ranges && line < s->directory.count; i++)
        if (address - s->shape.range[i].first < s->shape.range[i].bytes)
            return &s->shape.range[i];
    return NULL;
}

// The L3 of a CPU, or NULL.
static inline struct memory_cache *memory_state_third(struct memory_state *s, unsigned c) {
    return s->shape.l3.sets ? &s->third[s->shape.cpu[c].cluster] : NULL;
}

// The bit of its L3 in the directory.
static inline uint64_t memory_state_bit(const struct memory_state *s, unsigned c) {
    return s->shape.l3.sets ? (uint64_t)1 << s->shape.cpu[c].cluster : 0;
}

static inline enum memory_class memory_state_distance(const struct memory_state *s, unsigned a, unsigned b) {
    const struct memory_place *one = &s->shape.cpu[a], *two = &s->shape.cpu[b];
    if (one->socket != two->socket)
        return MEMORY_SOCKET;
    return one->cluster == two->cluster ? MEMORY_CLUSTER : MEMORY_ACROSS;
}

static inline void memory_state_moved(const struct memory_access *a, enum memory_move_kind kind,
                                      uint64_t line, unsigned taker, unsigned giver) {
    if (a->s->hook)
        a->s->hook(a->s->hook_data, &(struct memory_move){.kind = kind,
                                                          .access = a->kind,
                                                          .line = line,
                                                          .now = a->now,
                                                          .taker = taker,
                                                          .giver = giver});
}

#endif
