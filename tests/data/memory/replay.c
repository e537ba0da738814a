// Gives a trace to the memory model: what tests/memorykit.py calls through ctypes.
#include <string.h>

#include "memory.h"

// The first four are those of enum memory_kind.
enum op { OP_WALK = MEMORY_KINDS, OP_WALK_CODE, OP_FLUSH, OP_INTERRUPT, OP_PHASE };

struct step {
    uint64_t at, now; // at: a line, a page, or a phase
    uint32_t cpu, op;
};

struct moves {
    struct memory_move *move;
    size_t count, room;
};

static void keep(void *data, const struct memory_move *move) {
    struct moves *moves = data;
    if (moves->count < moves->room)
        moves->move[moves->count] = *move;
    moves->count++;
}

struct memory *replay_new(const char *path, char *problem, size_t size) {
    static struct memory_shape shape;
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return NULL;
    bool good = memory_shape_read(in, &shape, problem, size);
    fclose(in);
    return good ? memory_new(&shape) : NULL;
}

static bool hits(struct memory_front *f, const struct step *s) {
    enum memory_kind kind = (enum memory_kind)s->op;
    struct memory_spot spot = memory_spot_of(f, kind, s->at);
    return memory_spot_hit(f, &spot, kind, s->now) || memory_spot_hit_again(f, &spot, kind, s->now);
}

static bool walked(const struct memory_front *f, uint64_t page) {
    struct memory_page_spot spot = memory_page_spot_of(f, page);
    return memory_walked(&spot);
}

static uint32_t take(struct memory *m, const struct step *s, bool quick) {
    switch (s->op) {
    case OP_WALK:
        if (quick && walked(&m->front[s->cpu], s->at))
            return 0;
        // fallthrough
    case OP_WALK_CODE:
        return memory_walk(m, s->cpu, s->op == OP_WALK_CODE, s->at);
    case OP_FLUSH:
        memory_flush(m, s->cpu);
        return 0;
    case OP_INTERRUPT:
        return memory_interrupt(m, s->cpu);
    case OP_PHASE:
        memory_set_phase(m, (enum memory_phase)s->at);
        return 0;
    default:
        if (quick && hits(&m->front[s->cpu], s))
            return 0;
        return memory_access(m, s->cpu, (enum memory_kind)s->op, s->at, s->now);
    }
}

// `quick`: by the short paths first, as the plugin does. Gives how many moves there were; `move` has the first
// `room` of them.
size_t replay(struct memory *m, const struct step *steps, size_t count, bool quick, uint32_t *stalls,
              uint64_t *lates, struct memory_move *move, size_t room) {
    struct moves moves = {.move = move, .room = room};
    memory_on_move(m, keep, &moves);
    for (size_t i = 0; i < count; i++) {
        m->late = 0; // a hit on the short path is never late, and does not say so
        stalls[i] = take(m, &steps[i], quick);
        lates[i] = m->late;
    }
    memory_on_move(m, NULL, NULL);
    return moves.count;
}

// For each of these lines, what each CPU's L2 and its cluster's L3 hold it as.
void replay_held(struct memory *m, unsigned cpus, const uint64_t *lines, size_t count, uint8_t *out) {
    for (size_t i = 0; i < count; i++)
        for (unsigned c = 0; c < cpus; c++) {
            *out++ = (uint8_t)memory_held(m, c, lines[i]);
            *out++ = (uint8_t)memory_held_l3(m, c, lines[i]);
        }
}

// memory_books is nothing but 64-bit counters.
unsigned replay_books(struct memory *m, unsigned phase, unsigned cpu, uint64_t *out) {
    struct memory_books books = memory_books_of(m, (enum memory_phase)phase, cpu);
    memcpy(out, &books, sizeof books);
    return sizeof books / sizeof *out;
}

unsigned replay_order(struct memory *m, unsigned phase, uint64_t *out) {
    struct memory_ordering order = memory_order_of(m, (enum memory_phase)phase);
    memcpy(out, &order, sizeof order);
    return sizeof order / sizeof *out;
}
