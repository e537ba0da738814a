// Visits every state that a small machine of the memory model can reach, and checks each of them.
//   protocol SHAPE LINES
// A state is what all caches hold, in which order of use, what the directory says, and where the newest data
// of each line is. Data is not in the model: it is followed here by the moves that the model reports. Prints
// the states of line 0, then how many there are in all; or what is broken, and how to get there.
#include "memory_late.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CPUS 3
#define LINES 3
#define WAYS 4 // of a cache, all in one set or not
#define CACHES (3 * CPUS + CPUS)
#define MOST (1u << 22)

struct snapshot {
    uint64_t tags[CACHES][WAYS];
    uint64_t sharers[LINES], l3[LINES];
    uint16_t owner[LINES], writer[LINES], l3_dirty[LINES];
    bool private_new[CPUS][LINES], third_new[CPUS][LINES], memory_new[LINES]; // has the newest data
};

struct known {
    struct snapshot at;
    uint32_t from, operation;
};

static struct memory_shape shape;
static struct memory *m;
static unsigned lines, caches;
static struct memory_cache *cache[CACHES];
static struct known *known;
static uint32_t count, *table;
static struct snapshot now;     // the data's part of it is kept up to date here
static bool saved[CPUS][LINES]; // this cluster's L3 got the line from an L2 in this access
static uint32_t current, operation;

static const char *const kinds[] = {"reads", "fetches", "writes"};
#define OPERATIONS (CPUS * LINES * 3)

static void print_operation(uint32_t o) {
    printf("  CPU %u %s line %u\n", o / 3 / LINES, kinds[o % 3], o / 3 % LINES);
}

static void print_way(uint32_t state) {
    if (known[state].from != state) {
        print_way(known[state].from);
        print_operation(known[state].operation);
    }
}

__attribute__((noreturn, format(printf, 1, 2))) static void broken(const char *format, ...) {
    va_list values;
    va_start(values, format);
    printf("broken: ");
    vprintf(format, values);
    va_end(values);
    printf("\n");
    print_way(current);
    print_operation(operation);
    exit(1);
}

#define REQUIRE(holds, ...)                                                                                  \
    do {                                                                                                     \
        if (!(holds))                                                                                        \
            broken(__VA_ARGS__);                                                                             \
    } while (0)

static unsigned cluster_of(unsigned c) {
    return shape.cpu[c].cluster;
}

static struct memory_line *entry_of(unsigned line) {
    return memory_directory_at(&m->state->directory, line);
}

static uint64_t ways_of(const struct memory_cache *c) {
    return (uint64_t)c->first.sets * c->first.ways;
}

// ---- states

static void take(struct snapshot *s) {
    *s = now;
    memset(s->tags, 0, sizeof s->tags);
    for (unsigned i = 0; i < caches; i++)
        for (uint64_t at = 0; at < ways_of(cache[i]); at++)
            s->tags[i][at] = cache[i]->first.tags[at];
    for (unsigned line = 0; line < lines; line++) {
        const struct memory_line *e = entry_of(line);
        s->sharers[line] = e->sharers[0];
        s->owner[line] = e->owner;
        s->writer[line] = e->writer;
        s->l3[line] = e->l3;
        s->l3_dirty[line] = e->l3_dirty;
    }
}

static void put(const struct snapshot *s) {
    now = *s;
    for (unsigned i = 0; i < caches; i++)
        for (uint64_t at = 0; at < ways_of(cache[i]); at++)
            cache[i]->first.tags[at] = s->tags[i][at];
    for (unsigned line = 0; line < lines; line++) {
        struct memory_line *e = entry_of(line);
        e->sharers[0] = s->sharers[line];
        e->owner = s->owner[line];
        e->writer = s->writer[line];
        e->l3 = s->l3[line];
        e->l3_dirty = s->l3_dirty[line];
        e->busy_ns = 0;
    }
}

static void visit(void) {
    struct snapshot s;
    take(&s);
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < sizeof s / sizeof hash; i++) {
        uint64_t word;
        memcpy(&word, (const char *)&s + i * sizeof word, sizeof word);
        hash = (hash ^ (hash >> 29) ^ word) * 0x9e3779b97f4a7c15u;
    }
    uint32_t slot = (uint32_t)(hash >> 32) % MOST;
    for (; table[slot]; slot = (slot + 1) % MOST)
        if (memcmp(&known[table[slot] - 1].at, &s, sizeof s) == 0)
            return;
    if (count % 65536 == 0)
        known = realloc(known, (count + 65536) * sizeof *known);
    if (!known || count == MOST / 2) {
        printf("too many states\n");
        exit(2);
    }
    known[count] = (struct known){.from = current, .operation = operation};
    memcpy(&known[count].at, &s, sizeof s); // with its padding, which is compared
    table[slot] = ++count;
}

// ---- data

static void moves(void *data, const struct memory_move *move) {
    (void)data;
    unsigned line = (unsigned)move->line, taker = move->taker, giver = move->giver;
    switch (move->kind) {
    case MEMORY_MOVE_TRANSFER:
        REQUIRE(now.private_new[giver][line], "a transfer of old data");
        now.private_new[taker][line] = now.private_new[giver][line];
        break;
    case MEMORY_MOVE_L3_OUT:
        now.private_new[taker][line] = now.third_new[cluster_of(giver)][line];
        break;
    case MEMORY_MOVE_L3:
        now.private_new[taker][line] = now.third_new[cluster_of(taker)][line];
        break;
    case MEMORY_MOVE_FILL:
        now.private_new[taker][line] = now.memory_new[line];
        break;
    case MEMORY_MOVE_BACK_L3:
        now.third_new[cluster_of(giver)][line] = now.private_new[giver][line];
        saved[cluster_of(giver)][line] = true;
        break;
    case MEMORY_MOVE_BACK:
        now.memory_new[line] = now.private_new[giver][line];
        break;
    case MEMORY_MOVE_L3_BACK:
        now.memory_new[line] = now.third_new[cluster_of(giver)][line];
        break;
    case MEMORY_MOVE_INVALIDATE:
        break;
    }
}

// ---- what must hold

static enum memory_mesi held(const struct memory_cache *c, unsigned line) {
    uint64_t at = memory_cache_find(c, line);
    return at == MEMORY_CACHE_NONE ? MEMORY_I : MEMORY_STATE_MESI(c->first.tags[at]);
}

static enum memory_mesi held_l3(unsigned cluster, unsigned line) {
    return shape.l3.sets ? held(&m->state->third[cluster], line) : MEMORY_I;
}

static unsigned clusters(void) {
    return shape.cpu[shape.cpus - 1].cluster + 1;
}

static void check_cpu(unsigned c, unsigned line) {
    const struct memory_state_cpu *cpu = &m->state->cpu[c];
    const struct memory_line *e = entry_of(line);
    enum memory_mesi state = held(&cpu->second, line);
    for (const struct memory_cache *first = &cpu->data; first;
         first = first == &cpu->data ? &cpu->code : NULL)
        REQUIRE(held(first, line) == MEMORY_I || held(first, line) == state, "an L1 has what its L2 has not");
    REQUIRE((e->sharers[0] >> c & 1) == (state != MEMORY_I), "the directory's sharers are wrong");
    bool owns = state == MEMORY_E || state == MEMORY_M;
    REQUIRE((e->owner == c + 1) == owns, "the directory's owner is wrong");
    for (unsigned o = 0; o < shape.cpus && owns; o++)
        REQUIRE(o == c || held(&m->state->cpu[o].second, line) == MEMORY_I, "an owner is not alone");
    for (unsigned k = 0; k < clusters() && owns; k++)
        REQUIRE(k == cluster_of(c) || held_l3(k, line) == MEMORY_I, "another L3 has what a CPU owns");
    REQUIRE(state == MEMORY_I || now.private_new[c][line], "a CPU holds old data");
}

static void check_third(unsigned k, unsigned line) {
    const struct memory_line *e = entry_of(line);
    enum memory_mesi state = held_l3(k, line);
    REQUIRE((e->l3 >> k & 1) == (state != MEMORY_I), "the directory's L3s are wrong");
    REQUIRE(state != MEMORY_E, "an L3 is exclusive");
    REQUIRE(state == MEMORY_I || now.third_new[k][line] || e->owner, "an L3 gives old data");
    if (state != MEMORY_M)
        return;
    REQUIRE(e->l3_dirty && e->l3 == (uint64_t)1 << k, "modified in one L3, and in another one");
    for (unsigned c = 0; c < shape.cpus; c++) {
        enum memory_mesi cpu = held(&m->state->cpu[c].second, line);
        REQUIRE(cpu != MEMORY_M, "modified twice");
        REQUIRE(cpu == MEMORY_I || cluster_of(c) == k, "modified in an L3, and in another cluster");
    }
}

static void check_line(unsigned line) {
    const struct memory_line *e = entry_of(line);
    bool kept = now.memory_new[line];
    for (unsigned c = 0; c < shape.cpus; c++) {
        check_cpu(c, line);
        kept |= held(&m->state->cpu[c].second, line) == MEMORY_M && now.private_new[c][line];
    }
    for (unsigned k = 0; k < clusters(); k++) {
        check_third(k, line);
        kept |= held_l3(k, line) == MEMORY_M && now.third_new[k][line];
    }
    REQUIRE(kept, "modified data is lost");
    REQUIRE(e->l3_dirty == 0 || e->l3, "an L3 that has nothing is modified");
}

static void check_cache(const struct memory_cache *c) {
    for (uint64_t at = 0; at < ways_of(c); at++)
        for (uint64_t other = 0; other < at; other++)
            REQUIRE(!c->first.tags[at] || c->first.tags[at] >> 3 != c->first.tags[other] >> 3,
                    "a line is twice in a cache");
}

static void forget_absent(unsigned line) {
    for (unsigned c = 0; c < shape.cpus; c++)
        now.private_new[c][line] &= held(&m->state->cpu[c].second, line) != MEMORY_I;
    for (unsigned k = 0; k < clusters(); k++)
        now.third_new[k][line] &= held_l3(k, line) != MEMORY_I;
}

static void operate(unsigned c, enum memory_kind kind, unsigned line) {
    unsigned k = cluster_of(c);
    bool had = held_l3(k, line) != MEMORY_I;
    memset(saved, 0, sizeof saved);
    memory_access(m, c, kind, line, 0);
    REQUIRE(held(&m->state->cpu[c].second, line) != MEMORY_I, "a CPU has not got what it asked for");
    REQUIRE(kind == MEMORY_WRITE || now.private_new[c][line], "a CPU reads an old value");
    if (!had && !saved[k][line])
        now.third_new[k][line] = now.private_new[c][line];
    if (kind == MEMORY_WRITE) {
        for (unsigned other = 0; other < CPUS; other++)
            now.private_new[other][line] = now.third_new[other][line] = false;
        now.memory_new[line] = false;
        now.private_new[c][line] = true;
        REQUIRE(held(&m->state->cpu[c].second, line) == MEMORY_M, "a CPU writes what it does not own");
    }
    for (unsigned i = 0; i < lines; i++) {
        check_line(i);
        forget_absent(i);
    }
    for (unsigned i = 0; i < caches; i++)
        check_cache(cache[i]);
}

static void print_states(void) {
    static bool printed[1u << 4 * CPUS];
    for (uint32_t i = 0; i < count; i++) {
        char text[2 * CPUS + 2] = {0}, *end = text;
        uint32_t number = 0;
        put(&known[i].at);
        for (unsigned c = 0; c < shape.cpus; c++)
            number = number << 2 | held(&m->state->cpu[c].second, 0), *end++ = "ISEM"[number & 3];
        *end++ = ' ';
        for (unsigned k = 0; k < clusters(); k++)
            number = number << 2 | held_l3(k, 0), *end++ = "ISEM"[number & 3];
        if (!printed[number])
            puts(text);
        printed[number] = true;
    }
}

int main(int argc, char **argv) {
    char problem[300] = "usage: protocol SHAPE LINES";
    FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (!in || !memory_shape_read(in, &shape, problem, sizeof problem) || !(m = memory_new(&shape))) {
        printf("%s\n", problem);
        return 2;
    }
    lines = (unsigned)atoi(argv[2]);
    for (unsigned c = 0; c < shape.cpus; c++) {
        cache[caches++] = &m->state->cpu[c].data;
        cache[caches++] = &m->state->cpu[c].code;
        cache[caches++] = &m->state->cpu[c].second;
    }
    for (unsigned k = 0; k < clusters() && shape.l3.sets; k++)
        cache[caches++] = &m->state->third[k];
    memory_on_move(m, moves, NULL);
    table = calloc(MOST, sizeof *table);
    memset(now.memory_new, true, sizeof now.memory_new);
    visit();
    for (; current < count; current++)
        for (operation = 0; operation < OPERATIONS; operation++) {
            unsigned c = operation / 3 / LINES, line = operation / 3 % LINES;
            if (c >= shape.cpus || line >= lines)
                continue;
            put(&known[current].at);
            operate(c,
                    operation % 3 == 0   ? MEMORY_READ
                    : operation % 3 == 1 ? MEMORY_FETCH
                                         : MEMORY_WRITE,
                    line);
            visit();
        }
    print_states();
    printf("%u\n", count);
    return 0;
}
