// The memory system of a machine: caches, coherence, memory, bandwidth and TLBs. It knows no QEMU.
//
// Takes every access of every CPU, in one order, with the CPU's time; gives the time that the access adds to
// its instruction (the stall). It owns no thread, no lock and no clock. Time is in ns; an instruction takes
// 1 ns, so a level with latency L stalls for L - 1. docs/memory-model.md explains the rules.
//
// Rules
// - Each CPU has an L1d, an L1i and an L2, which holds all that is in both (inclusive). The CPUs of a cluster
//   may share an L3, which is neither inclusive nor exclusive: it takes what its CPUs read from elsewhere and
//   what leaves an L2 modified. All are set-associative with true LRU, by physical line.
// - MESI between the L2s. A directory knows all sharers of each line, exactly, and which L3s hold it.
// - A read of a line that another L2 holds E or M is a transfer from there. Both are S then; modified data
//   goes to the L3 within a cluster, to memory otherwise. Lines that are only S elsewhere come from the own
//   L3 or from memory.
// - A write takes the line away from every other cache. It waits for its data and for the farthest of them.
// - What leaves the L2s to get a line, or the right to write it, is served one CPU at a time for each line.
// - Each access is served in one place (enum memory_class, up to MEMORY_SOCKET), so the counts of the places
//   add up to the accesses, and the stalls of the classes to the stalls returned.
// - Order: an access is late if, to this line, another CPU has already done at a later time what this access
//   should have come before. A read is late after a write, a write after a read or a write. The time of an
//   access is that of the call.
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MEMORY_CPUS 256
#define MEMORY_CLUSTERS 64 // with an L3
#define MEMORY_NODES 64
#define MEMORY_RANGES 64
#define MEMORY_NAME 64
#define MEMORY_PAGE_BITS 12

// An atomic reads and writes.
enum memory_kind { MEMORY_READ, MEMORY_FETCH, MEMORY_WRITE, MEMORY_ATOMIC, MEMORY_KINDS };
enum memory_phase { MEMORY_BOOT, MEMORY_WINDOW, MEMORY_PHASES };

// The causes of stalls. An access is served in exactly one of the first eight places, whose stall is always
// the latency - 1. The others come on top.
enum memory_class {
    MEMORY_L1,
    MEMORY_L2,
    MEMORY_L3,
    MEMORY_LOCAL,
    MEMORY_REMOTE,
    MEMORY_CLUSTER, // a transfer from another cache of the cluster
    MEMORY_ACROSS,  // from another cluster of the socket
    MEMORY_SOCKET,  // from another socket
    MEMORY_PLACES,
    MEMORY_UPGRADE = MEMORY_PLACES, // writes to a line held S; its time: waits for all copies taken away
    MEMORY_BUSY,                    // waits for a line that is just being served to another CPU
    MEMORY_QUEUE,                   // waits for the bandwidth of a node
    MEMORY_ATOMICS,                 // the cost of an atomic
    MEMORY_WALK,                    // page walks
    MEMORY_INTERRUPT,               // interrupts between CPUs
    MEMORY_CLASSES,
};

// The names of kinds, phases and classes in the log: `read`, `boot`, `transfer_cluster` ...
extern const char *const memory_kind_name[MEMORY_KINDS];
extern const char *const memory_phase_name[MEMORY_PHASES];
extern const char *const memory_class_name[MEMORY_CLASSES];

// ---- the machine

struct memory_level {
    uint32_t sets, ways, latency; // sets 0: there is none
};

struct memory_place {
    uint32_t cluster, socket, node;
};

struct memory_range {
    uint64_t first, bytes;
    uint32_t node;
};

struct memory_shape {
    char name[MEMORY_NAME];
    uint32_t cpus, line; // line: its size in bytes
    struct memory_level l1d, l1i, l2, l3;
    struct memory_place cpu[MEMORY_CPUS];
    uint32_t ranges;
    struct memory_range range[MEMORY_RANGES]; // ascending
    uint32_t local, remote;                   // latencies
    uint32_t cluster, across, socket;         // latencies of transfers
    uint32_t atomic, interrupt;               // on top of what else they cost
    uint32_t bandwidth;                       // a line occupies its node's memory for so many ps; 0: no limit
    uint32_t tlb_entries, tlb_ways, tlb_walk; // 0: none
    bool strict;                              // not used here: whoever calls must leave no access late
};

// Reads a shape file. False, with what is wrong and where in `problem`, if it is none or contradicts itself.
bool memory_shape_read(FILE *in, struct memory_shape *shape, char *problem, size_t size);

// ---- accesses

struct memory_times {
    uint64_t read, written; // when this CPU last did
};

// The part of an L1 that the short path needs.
struct memory_first {
    uint64_t *tags;             // the most recent way of a set comes first
    struct memory_times *times; // as the tags
    uint64_t mask;              // sets - 1; 0 if sets is no power of two
    uint32_t sets, ways;
};

struct memory_front {
    struct memory_first data, code;
    struct memory_first pages; // the TLB for data; no sets: there is none
    uint64_t accesses[MEMORY_KINDS]; // of this phase
};

struct memory {
    struct memory_front *front; // by CPU; stays where it is
    uint64_t late;              // by how many ns the last memory_access was late; 0: it was not
    uint32_t line_bits;         // a line is a physical address shifted right by this
    struct memory_state *state;
};

// NULL if the host has no memory for it. The shape is copied.
struct memory *memory_new(const struct memory_shape *shape);
void memory_free(struct memory *m);

// The stall of an access to a physical line at the CPU's time `now`. An access to two lines is two accesses.
// Lines outside the shape's ranges (devices, firmware) are counted and cost nothing.
uint32_t memory_access(struct memory *m, unsigned cpu, enum memory_kind kind, uint64_t line, uint64_t now);

// A tag is memory_key | MEMORY_LOOK | enum memory_mesi; 0 is an empty way.
enum memory_mesi { MEMORY_I, MEMORY_S, MEMORY_E, MEMORY_M, MEMORY_MESI = 3 };
#define MEMORY_LOOK 4u // another CPU has used this line at a later time: compare before each access

static inline uint64_t memory_key(uint64_t line) {
    return (line + 1) << 3;
}

// The short path, for callers that keep &m->front[cpu]. A spot is where an L1 has the most recent way of a line's
// set; it stays where it is.
struct memory_spot {
    uint64_t key, *tag;
    struct memory_times *times;
};

static inline struct memory_spot memory_spot_of(const struct memory_front *f, enum memory_kind kind,
                                                uint64_t line) {
    const struct memory_first *first = kind == MEMORY_FETCH ? &f->code : &f->data;
    uint64_t at = (first->mask ? line & first->mask : line % first->sets) * first->ways;
    return (struct memory_spot){memory_key(line), &first->tags[at], &first->times[at]};
}

static inline uint64_t memory_spot_line(const struct memory_spot *spot) {
    return (spot->key >> 3) - 1;
}

// True if the access is one that memory_access would serve from the most recent way of the L1 with nothing to do but
// note it. Then it is done, without a stall. Otherwise nothing has happened.
static inline bool memory_spot_hit(struct memory_front *f, const struct memory_spot *spot, enum memory_kind kind,
                                   uint64_t now) {
    uint64_t tag = *spot->tag;
    if (kind == MEMORY_READ || kind == MEMORY_FETCH) {
        if ((tag & ~(uint64_t)MEMORY_MESI) != spot->key)
            return false;
        spot->times->read = now;
    } else {
        if (kind != MEMORY_WRITE || tag != (spot->key | MEMORY_M))
            return false;
        spot->times->written = now;
    }
    f->accesses[kind]++;
    return true;
}

static inline bool memory_hit(struct memory_front *f, enum memory_kind kind, uint64_t line, uint64_t now) {
    struct memory_spot spot = memory_spot_of(f, kind, line);
    return memory_spot_hit(f, &spot, kind, now);
}

// Does the same for the other ways of the L1, after memory_spot_hit gave false. If this gives false too,
// memory_access must follow: the line may be the most recent of its set by now.
bool memory_spot_hit_again(struct memory_front *f, const struct memory_spot *spot, enum memory_kind kind,
                           uint64_t now);

// Where the data TLB has the most recent page of a page's set, and what is there if it is this page. Then memory_walk
// would have nothing to do; without a TLB it never has.
struct memory_page_spot {
    const uint64_t *tag;
    uint64_t key;
};

static inline struct memory_page_spot memory_page_spot_of(const struct memory_front *f, uint64_t page) {
    static const uint64_t always;
    const struct memory_first *first = &f->pages;
    if (!first->sets)
        return (struct memory_page_spot){&always, 0};
    uint64_t set = first->mask ? page & first->mask : page % first->sets;
    return (struct memory_page_spot){&first->tags[set * first->ways], memory_key(page) | MEMORY_S};
}

static inline bool memory_walked(const struct memory_page_spot *spot) {
    return *spot->tag == spot->key;
}

// Fetches that the caller knows to be of the line that the CPU fetched last from its set. They are counted.
static inline void memory_fetched(struct memory_front *front, uint64_t count) {
    front->accesses[MEMORY_FETCH] += count;
}

// The stall for the translation of a virtual page, which is looked up before the access. There are two TLBs,
// for data and for code. A caller that changes translations must call memory_flush.
uint32_t memory_walk(struct memory *m, unsigned cpu, bool code, uint64_t page);
void memory_flush(struct memory *m, unsigned cpu);
// The stall of the CPU that an interrupt of another CPU reaches.
uint32_t memory_interrupt(struct memory *m, unsigned cpu);

// ---- books

struct memory_books {
    uint64_t accesses[MEMORY_KINDS]; // their sum is that of the places in count[]
    uint64_t count[MEMORY_CLASSES];  // accesses served in a place; upgrades, waits, walks, interrupts ...
    uint64_t stall_ns[MEMORY_CLASSES];
    uint64_t invalidations; // copies that writes of this CPU took from other L2s
    uint64_t written_back;  // modified lines that left an L2 or, for this CPU's sake, an L3
    uint64_t outside;       // accesses to lines that are not in the machine's memory
    uint64_t touched;       // lines of which this CPU was the first to use data since the window opened
};

// Accesses out of order. `worst_line` is that of the first of the worst ones.
struct memory_ordering {
    uint64_t count, worst_ns, worst_line, total_ns;
    uint64_t crossed; // of `count`: late only as a write after a write, without a read between
};

// From now on everything is booked in this phase, at first MEMORY_BOOT. Caches stay as they are. The short path does
// not see that a line is touched: after the window has opened, the first use of each must be a memory_access.
void memory_set_phase(struct memory *m, enum memory_phase phase);
struct memory_books memory_books_of(struct memory *m, enum memory_phase phase, unsigned cpu);
struct memory_ordering memory_order_of(const struct memory *m, enum memory_phase phase);

// ---- moves of lines

enum memory_move_kind {
    MEMORY_MOVE_TRANSFER,   // from the L2 of `giver` to the L2 of `taker`
    MEMORY_MOVE_L3_OUT,     // from the L3 of another cluster, that of `giver`, which wrote it last
    MEMORY_MOVE_L3,         // from the own L3
    MEMORY_MOVE_FILL,       // from memory
    MEMORY_MOVE_INVALIDATE, // `taker` takes the copy of `giver` away (one call for each)
    MEMORY_MOVE_BACK_L3,    // modified data from the L2 of `giver` to its L3
    MEMORY_MOVE_BACK,       // from the L2 of `giver` to memory
    MEMORY_MOVE_L3_BACK,    // from the L3 of the cluster of `giver` to memory
};

struct memory_move {
    enum memory_move_kind kind;
    enum memory_kind access; // the access that caused it
    uint64_t line, now;
    uint32_t taker, giver; // CPUs
};

// Called during memory_access for every move, in order. It must not call the model.
typedef void memory_hook(void *data, const struct memory_move *move);
void memory_on_move(struct memory *m, memory_hook *hook, void *data);

// Called when a line leaves an L1i otherwise than for a later fetch of the same CPU and set.
typedef void memory_code_hook(void *data, unsigned cpu, uint64_t line);
void memory_on_code_lost(struct memory *m, memory_code_hook *hook, void *data);

// For tests: the state of a line in a CPU's L2, and whether its L3 has it modified or clean (M, S or I).
enum memory_mesi memory_held(const struct memory *m, unsigned cpu, uint64_t line);
enum memory_mesi memory_held_l3(const struct memory *m, unsigned cpu, uint64_t line);

#endif
