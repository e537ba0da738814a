#define _GNU_SOURCE
#include "rehearsal.h"

#include "journal.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_fork;
static unsigned met; // blocks of the template to which this fork came

void rehearsal_forked(void) {
    is_fork = true;
}

void rehearsal_report(void) {
    if (is_fork)
        journal_line("host rehearsed %u", met);
}

#if INSN_API >= 3

#define SLOTS (1u << 17) // a power of two
#define PROBES 64
#define MOST_BYTES 512
#define JUMP_BYTES 14 // jmp *0(%rip), and the address behind it
#define CODE_BYTES 64
#define PRIVILEGE 3     // the bits of the CPU's state in which its privilege is; 0: the kernel
#define KNOWN (1ull << 32)
#define PATIENCE 100000 // looks, 200 us apart

// QEMU's, as in its sources of these versions. `struct cpu` is its CPUState.
struct cpu;
typedef void *translator(struct cpu *cpu, uint64_t pc, uint64_t base, uint32_t state, uint32_t flags);
typedef void *finder(const void *table, const void *wanted, uint32_t hash, void *is_equal);
static struct {
    translator *gen_code;
    finder *find;
    struct cpu *(*get_cpu)(int);
    void (*run_on_cpu)(struct cpu *, void (*work)(struct cpu *, void *), void *);
    int (*read_memory)(struct cpu *, uint64_t, void *, size_t, bool);
    uint32_t (*flags)(struct cpu *);
    void (*forget_addresses)(struct cpu *);
} qemu;
static const char *const names[] = {"tb_gen_code",         "qht_lookup_custom", "qemu_get_cpu", "async_run_on_cpu",
                                    "cpu_memory_rw_debug", "curr_cflags",       "tlb_flush"};

// The begin of what QEMU's translator gives.
struct block {
    uint64_t pc, base;
    uint32_t state, flags;
};

struct entry {
    _Atomic uint64_t key; // 0: nobody has taken the slot
    _Atomic bool complete;
    bool done; // the template's own
    uint16_t size;
    uint32_t state, flags;
    uint64_t pc, base, digest;
};

struct table {
    _Atomic unsigned entries; // that are complete
    _Atomic uint64_t usual;   // KNOWN, and the state of CPU 0 at the first block of the first fork
    struct entry entry[SLOTS];
};

static struct table *table;  // NULL: nothing is rehearsed
static translator *original; // QEMU's translator, past the jump
static finder *found_by;     // and what it finds a block by
static unsigned known; // entries of the table, in the template
static _Atomic bool finished;
static bool rehearses; // the template translates for its forks
static _Thread_local struct {
    size_t size;
    uint64_t digest;
    struct blocks_tail tail;
} seen; // the block that this thread translates

// What was translated in the template, by the address of QEMU's block.
static struct rehearsed {
    const void *block;
    struct blocks_tail *tail; // NULL: the fork has come to it
} rehearsed[SLOTS];

static struct rehearsed *place_of(const void *block) {
    size_t at = ((uintptr_t)block >> 6) * 0x9e3779b97f4a7c15 >> 40;
    while (rehearsed[at & (SLOTS - 1)].block && rehearsed[at & (SLOTS - 1)].block != block)
        at++;
    return &rehearsed[at & (SLOTS - 1)];
}

// QEMU's translator takes most of the CPU's state from its argument, and some from the CPU itself, such as whether the
// kernel may access its program's memory. So only blocks are rehearsed for whose state that of CPU 0 at rest will do.
static bool is_usual(struct cpu *cpu, uint32_t state, uint32_t flags) {
    return (KNOWN | state) == atomic_load(&table->usual) && (state & PRIVILEGE) == 0 && flags == qemu.flags(cpu);
}

// ---- in a fork

static uint64_t mixed(uint64_t digest, const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ bytes[i]) * 0x100000001b3;
    return digest;
}

#define NOTHING 0xcbf29ce484222325 // the digest of no bytes

static bool jumps_back(const struct blocks_tail *tail) {
    bool conditional;
    int64_t by;
    return tail->count && blocks_arch->jump(&tail->insns[tail->count - 1], &conditional, &by) && by < 0 &&
           tail->end + (uint64_t)by < tail->begin;
}

bool rehearsal_block(struct qemu_plugin_tb *tb, size_t instructions, const struct blocks_tail *tail) {
    if (rehearses)
        seen.tail = *tail;
    seen.size = 0;
    seen.digest = NOTHING;
    for (size_t i = 0; i < instructions && is_fork && table && !jumps_back(tail); i++) {
        uint8_t bytes[16];
        size_t size = qemu_plugin_insn_data(qemu_plugin_tb_get_insn(tb, i), bytes, sizeof bytes);
        seen.digest = mixed(seen.digest, bytes, size);
        seen.size += size;
    }
    return rehearses;
}

static void note(uint64_t pc, uint64_t base, uint32_t state, uint32_t flags) {
    uint64_t key = (seen.digest ^ pc * 0x9e3779b97f4a7c15 ^ (uint64_t)state << 32 ^ base ^ flags) | 1;
    for (unsigned i = 0; i < PROBES; i++) {
        struct entry *e = &table->entry[((key >> 40) + i) & (SLOTS - 1)];
        uint64_t was = 0;
        if (atomic_compare_exchange_strong(&e->key, &was, key)) {
            e->size = (uint16_t)seen.size;
            e->state = state;
            e->flags = flags;
            e->pc = pc;
            e->base = base;
            e->digest = seen.digest;
            atomic_store(&e->complete, true);
            atomic_fetch_add(&table->entries, 1);
            return;
        }
        if (was == key)
            return;
    }
}

// Is called in place of QEMU's translator.
static void *translating(struct cpu *cpu, uint64_t pc, uint64_t base, uint32_t state, uint32_t flags) {
    seen.size = 0;
    const struct block *block = original(cpu, pc, base, state, flags);
    uint64_t none = 0;
    if (is_fork) // it may have the address of one that was forgotten
        place_of(block)->tail = NULL;
    if (is_fork && table && cpu == qemu.get_cpu(0))
        atomic_compare_exchange_strong(&table->usual, &none, KNOWN | state);
    if (is_fork && table && seen.size && seen.size <= MOST_BYTES && is_usual(cpu, state, flags) && block->base == base &&
        block->state == state && block->flags == flags)
        note(pc, base, state, flags);
    return (void *)block;
}

// Is called in place of QEMU's search for a block.
static void *finding(const void *blocks, const void *wanted, uint32_t hash, void *is_equal) {
    void *block = found_by(blocks, wanted, hash, is_equal);
    struct rehearsed *r = block && is_fork ? place_of(block) : NULL;
    if (r && r->tail) {
        struct spin spin = blocks_spin(r->tail), alone = blocks_spin_alone(r->tail);
        if (spin.on != alone.on || spin.instructions != alone.instructions)
            journal_refuse("a block that was translated for all forks closes a loop of this one");
        r->tail = NULL;
        met++;
    }
    return block;
}

// ---- in the template

static void keep(const void *block) {
    struct rehearsed *r = place_of(block);
    r->block = block;
    r->tail = malloc(sizeof *r->tail);
    if (!r->tail)
        abort();
    *r->tail = seen.tail;
}

// What a fork wrote may be anything. So the block is translated only if its instructions are here.
static void translate(struct cpu *cpu, struct entry *e) {
    uint8_t bytes[MOST_BYTES];
    e->done = true;
    if (e->size <= MOST_BYTES && is_usual(cpu, e->state, e->flags) &&
        qemu.read_memory(cpu, e->pc, bytes, e->size, false) == 0 && mixed(NOTHING, bytes, e->size) == e->digest)
        keep(original(cpu, e->pc, e->base, e->state, e->flags));
}

static void work(struct cpu *cpu, void *unused) {
    (void)unused;
    rehearses = true;
    for (unsigned i = 0; i < SLOTS; i++)
        if (atomic_load(&table->entry[i].complete) && !table->entry[i].done)
            translate(cpu, &table->entry[i]);
    rehearses = false;
    qemu.forget_addresses(cpu); // a restored CPU has looked nothing up
    atomic_store(&finished, true);
}

bool rehearsal_translate(void) {
    unsigned entries = table ? atomic_load(&table->entries) : 0;
    if (entries == known)
        return true;
    known = entries;
    atomic_store(&finished, false);
    qemu.run_on_cpu(qemu.get_cpu(0), work, NULL);
    for (int look = 0; look < PATIENCE && !atomic_load(&finished); look++)
        usleep(200);
    return atomic_load(&finished);
}

// ---- the jump

// The length of an instruction with which a function begins, and that does the same at any place; 0: it is another one.
static unsigned movable(const uint8_t *code) {
    unsigned rex = (code[0] & 0xf0) == 0x40;
    if (memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0) // endbr64
        return 4;
    if ((code[rex] & 0xf8) == 0x50) // push
        return rex + 1;
    return code[rex] == 0x89 && code[rex + 1] >> 6 == 3 ? rex + 2 : 0; // mov of registers
}

static void write_jump(uint8_t *at, const void *to) {
    memcpy(at, "\xff\x25\0\0\0\0", 6);
    memcpy(at + 6, &to, sizeof to);
}

// The calls of `site` come to `to` from now on; gives what they came to before.
static void *divert(uint8_t *site, const void *to) {
    unsigned length = 0;
    for (unsigned next; length < JUMP_BYTES; length += next)
        if (!(next = movable(site + length)))
            return NULL;
    uint8_t *moved = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (moved == MAP_FAILED)
        return NULL;
    memcpy(moved, site, length);
    write_jump(moved + length, site + length);
    uint8_t *page = (uint8_t *)((uintptr_t)site & ~4095ul);
    if (syscall(SYS_mprotect, moved, CODE_BYTES, PROT_READ | PROT_EXEC) != 0 ||
        syscall(SYS_mprotect, page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return NULL;
    write_jump(site, to);
    syscall(SYS_mprotect, page, 8192, PROT_READ | PROT_EXEC);
    return moved;
}

void rehearsal_setup(const char *target, int api) {
    void *found[sizeof names / sizeof *names];
    if (api != 4 || strcmp(target, "x86_64") != 0)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(found[i] = dlsym(RTLD_DEFAULT, names[i])))
            return;
    _Static_assert(sizeof found == sizeof qemu, "each function has a name");
    memcpy(&qemu, found, sizeof qemu);
    struct table *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return;
    // If only the first can be diverted, nothing is rehearsed.
    void *translates = divert(found[0], (const void *)(uintptr_t)translating);
    memcpy(&original, &translates, sizeof translates);
    void *finds = translates ? divert(found[1], (const void *)(uintptr_t)finding) : NULL;
    memcpy(&found_by, &finds, sizeof finds);
    if (finds)
        table = shared;
}

#else

void rehearsal_setup(const char *target, int api) {
    (void)target, (void)api;
}

bool rehearsal_block(struct qemu_plugin_tb *tb, size_t instructions, const struct blocks_tail *tail) {
    (void)tb, (void)instructions, (void)tail;
    return false;
}

bool rehearsal_translate(void) {
    return true;
}

#endif
