// Accesses to memory whose cost follows from arithmetic, to check the machine's memory system against.
//
// bench.case selects one. The values of a worker are the ns that its timed loops took by its own clock: of those
// that are repeated the shortest, because the kernel's timer is in some of them. Each loop has a known number of
// instructions a step.
#include "../../../guest/bench.h"

#define LINE 64
#define LEVELS 4
#define REPEATS 5

struct line {
    _Alignas(LINE) struct line *next;
    uint64_t rest[LINE / 8 - 1];
};

struct shared {
    _Alignas(LINE) uint32_t phase;
    _Alignas(LINE) uint32_t arrived;
    _Alignas(LINE) volatile uint64_t counter[BENCH_MAX_WORKERS]; // side by side: eight a line
    struct {
        _Alignas(2 * LINE) volatile uint64_t counter;
    } padded[BENCH_MAX_WORKERS];
};

static uint64_t steps;
static const uint64_t level_bytes[LEVELS] = {16 << 10, 64 << 10, 1 << 20, 32 << 20};
static struct line *level[LEVELS]; // a cycle through a buffer of each size

// ---- the loops

// Three instructions a step.
static struct line *chase(struct line *at, uint64_t n) {
#if defined(__x86_64__)
    __asm__ volatile("1: mov (%0), %0\n\tdec %1\n\tjnz 1b" : "+r"(at), "+r"(n)::"cc", "memory");
#elif defined(__riscv)
    __asm__ volatile("1: ld %0, (%0)\n\taddi %1, %1, -1\n\tbnez %1, 1b" : "+r"(at), "+r"(n)::"memory");
#elif defined(__aarch64__)
    __asm__ volatile("1: ldr %0, [%0]\n\tsubs %1, %1, #1\n\tb.ne 1b" : "+r"(at), "+r"(n)::"cc", "memory");
#endif
    return at;
}

// Three instructions a step: a write to one word.
static void store(volatile uint64_t *at, uint64_t n) {
#if defined(__x86_64__)
    __asm__ volatile("1: mov %1, (%0)\n\tdec %1\n\tjnz 1b" : "+r"(at), "+r"(n)::"cc", "memory");
#elif defined(__riscv)
    __asm__ volatile("1: sd %1, (%0)\n\taddi %1, %1, -1\n\tbnez %1, 1b" : "+r"(at), "+r"(n)::"memory");
#elif defined(__aarch64__)
    __asm__ volatile("1: str %1, [%0]\n\tsubs %1, %1, #1\n\tb.ne 1b" : "+r"(at), "+r"(n)::"cc", "memory");
#endif
}

// Five instructions a step, in one block: reads a word, and writes it back one larger.
static void increment(volatile uint64_t *at, uint64_t n) {
    uint64_t value;
#if defined(__x86_64__)
    __asm__ volatile("1: mov (%1), %2\n\tinc %2\n\tmov %2, (%1)\n\tdec %0\n\tjnz 1b"
                     : "+r"(n), "+r"(at), "=&r"(value)::"cc", "memory");
#elif defined(__riscv)
    __asm__ volatile("1: ld %2, (%1)\n\taddi %2, %2, 1\n\tsd %2, (%1)\n\taddi %0, %0, -1\n\tbnez %0, 1b"
                     : "+r"(n), "+r"(at), "=&r"(value)::"memory");
#elif defined(__aarch64__)
    __asm__ volatile("1: ldr %2, [%1]\n\tadd %2, %2, #1\n\tstr %2, [%1]\n\tsubs %0, %0, #1\n\tb.ne 1b"
                     : "+r"(n), "+r"(at), "=&r"(value)::"cc", "memory");
#endif
}

// The same by one instruction, where there is one that is not atomic; three a step.
static void add(volatile uint64_t *at, uint64_t n) {
#if defined(__x86_64__)
    __asm__ volatile("1: addq $1, (%1)\n\tdec %0\n\tjnz 1b" : "+r"(n), "+r"(at)::"cc", "memory");
#else
    increment(at, n);
#endif
}

// The same by an atomic instruction; three a step.
static void add_atomic(volatile uint64_t *at, uint64_t n) {
#if defined(__x86_64__)
    __asm__ volatile("1: lock addq $1, (%1)\n\tdec %0\n\tjnz 1b" : "+r"(n), "+r"(at)::"cc", "memory");
#elif defined(__riscv)
    __asm__ volatile("1: amoadd.d zero, %2, (%1)\n\taddi %0, %0, -1\n\tbnez %0, 1b"
                     : "+r"(n), "+r"(at) : "r"(UINT64_C(1)) : "memory");
#elif defined(__aarch64__)
    __asm__ volatile(".arch_extension lse\n1: ldadd %2, xzr, [%1]\n\tsubs %0, %0, #1\n\tb.ne 1b"
                     : "+r"(n), "+r"(at) : "r"(UINT64_C(1)) : "cc", "memory");
#endif
}

// Four instructions a step: a write to each line of the buffer, in its order.
static void store_lines(struct line *at, uint64_t n) {
#if defined(__x86_64__)
    __asm__ volatile("1: mov %1, 8(%0)\n\tadd $64, %0\n\tdec %1\n\tjnz 1b" : "+r"(at), "+r"(n)::"cc", "memory");
#elif defined(__riscv)
    __asm__ volatile("1: sd %1, 8(%0)\n\taddi %0, %0, 64\n\taddi %1, %1, -1\n\tbnez %1, 1b"
                     : "+r"(at), "+r"(n)::"memory");
#elif defined(__aarch64__)
    __asm__ volatile("1: str %1, [%0, #8]\n\tadd %0, %0, #64\n\tsubs %1, %1, #1\n\tb.ne 1b"
                     : "+r"(at), "+r"(n)::"cc", "memory");
#endif
}

// ---- a program like others, for comparison with a simulator of caches; 5 million instructions

#define SIDE 64
#define KEYS (16 * 1024)
#define SIEVE (128 * 1024)

static struct {
    _Alignas(4096) uint32_t a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
    uint32_t keys[KEYS];
    uint8_t composite[SIEVE];
    uint32_t table[SIEVE / 4];
} m;

static inline uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state;
}

static inline void sift(uint32_t root, uint32_t end) {
    for (;;) {
        uint32_t child = root * 2 + 1;
        if (child >= end)
            return;
        if (child + 1 < end && m.keys[child] < m.keys[child + 1])
            child++;
        if (m.keys[root] >= m.keys[child])
            return;
        uint32_t other = m.keys[root];
        m.keys[root] = m.keys[child];
        m.keys[child] = other;
        root = child;
    }
}

__attribute__((noinline, noclone, optimize("no-tree-vectorize", "no-tree-loop-distribute-patterns"))) uint64_t
memory_mixed(uint32_t seed);

// Under this name for cachegrind.
__attribute__((noinline, noclone, optimize("no-tree-vectorize", "no-tree-loop-distribute-patterns"))) uint64_t
memory_mixed(uint32_t seed) {
    for (uint32_t i = 0; i < KEYS; i++)
        m.keys[i] = next_random(&seed);
    for (uint32_t i = KEYS / 2; i-- > 0;)
        sift(i, KEYS);
    for (uint32_t i = KEYS; i-- > 1;) {
        uint32_t other = m.keys[0];
        m.keys[0] = m.keys[i];
        m.keys[i] = other;
        sift(0, i);
    }
    for (uint32_t i = 0; i < SIDE; i++)
        for (uint32_t k = 0; k < SIDE; k++) {
            m.a[i][k] = next_random(&seed);
            m.b[i][k] = next_random(&seed);
        }
    for (uint32_t i = 0; i < SIDE; i++)
        for (uint32_t k = 0; k < SIDE; k++) {
            uint32_t sum = 0;
            for (uint32_t n = 0; n < SIDE; n++)
                sum += m.a[i][n] * m.b[n][k];
            m.c[i][k] = sum;
        }
    for (uint32_t i = 0; i < SIEVE; i++)
        m.composite[i] = i < 2;
    for (uint32_t i = 2; i * i < SIEVE; i++)
        for (uint32_t n = i * i; !m.composite[i] && n < SIEVE; n += i)
            m.composite[n] = 1;
    for (uint32_t i = 0; i < 50000; i++)
        m.table[next_random(&seed) / 4 % (SIEVE / 4)] += i;
    uint64_t sum = m.keys[KEYS / 2] + m.c[SIDE / 2][SIDE / 3];
    for (uint32_t i = 0; i < SIEVE; i++)
        sum += m.composite[i];
    for (uint32_t i = 0; i < SIEVE / 4; i++)
        sum = sum * 31 + m.table[i];
    return sum;
}

// ---- cases

static struct line *volatile kept; // so that no loop is left out

static void meet(struct bench_job *job, uint32_t phase) {
    struct shared *s = job->data;
    if (__atomic_add_fetch(&s->arrived, 1, __ATOMIC_ACQ_REL) == job->workers * phase)
        port_gate_open(&s->phase, phase);
    else
        port_gate_wait(&s->phase, phase);
}

static void keep_shortest(uint64_t *value, uint64_t begin) {
    uint64_t took = port_now() - begin;
    if (*value == 0 || took < *value)
        *value = took;
}

// Each worker, one after the other: `steps` steps through each buffer, which is in the caches as far as it fits.
static void levels(struct bench_job *job, unsigned w, struct bench_slot *slot) {
    for (unsigned turn = 0; turn < job->workers; turn++) {
        for (unsigned i = 0; turn == w && i < LEVELS; i++) {
            struct line *at = chase(level[i], level_bytes[i] / LINE);
            for (unsigned r = 0; r < REPEATS; r++) {
                uint64_t begin = port_now();
                at = chase(at, steps);
                keep_shortest(&slot->value[i], begin);
            }
            kept = at;
        }
        meet(job, turn + 1);
    }
}

// Each of the others writes a whole buffer. Worker 0 reads it, so each line comes from the other's cache, and
// then writes it, so the other loses each.
static void moves(struct bench_job *job, unsigned w, struct bench_slot *slot) {
    uint64_t count = level_bytes[1] / LINE;
    uint32_t phase = 0;
    for (unsigned i = 0; i < (job->workers - 1) * REPEATS; i++) {
        unsigned giver = 1 + i / REPEATS;
        if (w == giver)
            store_lines(level[1], count);
        meet(job, ++phase);
        if (w == 0) {
            uint64_t begin = port_now();
            kept = chase(level[1], count);
            keep_shortest(&slot->value[2 * giver - 2], begin);
            begin = port_now();
            store_lines(level[1], count);
            keep_shortest(&slot->value[2 * giver - 1], begin);
        }
        meet(job, ++phase);
    }
}

// All write at once: to words of one line, or to words of different lines. Here the values are those of each
// repeat: while the kernel's timer has one CPU, the others have the line for themselves.
static void repeat(struct bench_slot *slot, void (*loop)(volatile uint64_t *, uint64_t), volatile uint64_t *word) {
    for (unsigned r = 0; r <= REPEATS; r++) {
        uint64_t begin = port_now();
        loop(word, steps);
        slot->value[r] = port_now() - begin;
    }
}

static void work(struct bench_job *job, unsigned w, struct bench_slot *slot) {
    struct shared *s = job->data;
    if (bench_param_is("case", "levels"))
        levels(job, w, slot);
    else if (bench_param_is("case", "moves"))
        moves(job, w, slot);
    else if (bench_param_is("case", "shared"))
        repeat(slot, store, &s->counter[w]);
    else if (bench_param_is("case", "padded"))
        repeat(slot, store, &s->padded[w].counter);
    else if (bench_param_is("case", "increments"))
        repeat(slot, increment, &s->counter[w]);
    else if (bench_param_is("case", "adds"))
        repeat(slot, add, &s->counter[w]);
    else if (bench_param_is("case", "atomics"))
        repeat(slot, add_atomic, &s->counter[w]);
    else
        for (uint64_t i = 0; i < steps; i++)
            slot->value[0] += memory_mixed((uint32_t)i);
}

// One cycle through all lines, in an order that no prefetcher would guess (Sattolo, 1986).
static struct line *cycle(uint64_t bytes) {
    uint64_t count = bytes / LINE;
    struct line *lines = port_shared(bytes);
    if (lines == NULL)
        return NULL;
    for (uint64_t i = 0; i < count; i++)
        lines[i].next = &lines[i];
    uint32_t state = 1;
    for (uint64_t i = count - 1; i > 0; i--) {
        uint64_t k = next_random(&state) % i;
        struct line *other = lines[i].next;
        lines[i].next = lines[k].next;
        lines[k].next = other;
    }
    return lines;
}

static const char *prepare(struct bench_job *job) {
    static const char *const cases[] = {"mixed",  "levels",     "moves", "shared",
                                        "padded", "increments", "adds",  "atomics"};
    steps = bench_param_u64("steps", 0);
    job->data = port_shared(sizeof(struct shared));
    if (steps == 0 || job->data == NULL)
        return "bench.steps must be at least 1";
    for (size_t i = 0; i < sizeof m; i += 4096)
        ((volatile char *)&m)[i] = 0; // no page faults in the window
    for (unsigned i = 0; i < LEVELS; i++)
        if ((level[i] = cycle(level_bytes[i])) == NULL)
            return "there is no memory for the buffers";
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (bench_param_is("case", cases[i]))
            return NULL;
    return "bench.case is unknown";
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    (void)job;
    fields[0] = (struct bench_field){"steps", steps, 0};
    return 1;
}

static const char *const param_names[] = {"case", "steps", NULL};
static const char *const task_names[] = {NULL};
static const char *const value_names[] = {"v0", "v1", "v2", "v3", "v4", "v5", NULL};

const struct bench_workload bench_workload = {
    .name = "memory",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
