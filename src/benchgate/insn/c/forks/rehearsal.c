#define _GNU_SOURCE
#include "rehearsal.h"

#include "divert.h"
#include "journal.h"
#include "layout.h"
#include "outer.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_fork;
static unsigned met, asked; // blocks of the template that this fork took, of those that it needed

static void report(bool is_proven) {
    if (!is_fork)
        return;
    journal_line("host translations %u", asked);
    journal_line("host rehearsed %u", met);
    journal_line("host layout_proven %d", is_proven);
}

#if INSN_API >= 3

#define SLOTS (1u << 17) // a power of two
#define PROBES 64
#define MOST_NOTES (SLOTS / 2)
#define ARENA (16u << 20) // bytes for notes
#define MOST_BYTES 512
#define BEFORE 4   // bytes before a block: the instruction after which it begins may be looked at (operations.c)
#define LONGEST 15 // bytes of an instruction: that behind a block decides whether the block ends there
#define NEIGHBOUR (64u << 10) // bytes: what is further away is in another region
#define PATIENCE 100000       // looks, 200 us apart
#ifndef REHEARSAL_AMPLE
#define REHEARSAL_AMPLE (128u << 20) // bytes for translated code, of which runs do not use up what is left
#endif

// QEMU's, as in its sources of these versions. `struct cpu` is its CPUState.
struct cpu;
#define PRIVILEGE 3u     // of hflags; 0: the kernel
#define UNLINKED 0x4000u // in flags
static struct {
    struct block *(*translate)(struct cpu *cpu, uint64_t pc, uint64_t base, uint32_t state, uint32_t flags);
    uint64_t (*fetch)(struct env *env, uint64_t pc, void **host);
    struct cpu *(*get_cpu)(int);
    void (*run_on_cpu)(struct cpu *, void (*work)(struct cpu *, void *), void *);
    uint32_t (*flags)(struct cpu *);
    void (*lock_page)(uint64_t);
    struct block *(*link)(struct block *);
    void (*reset_jump)(struct block *, int);
    void (*unlink)(struct block *, uint64_t page);
    size_t (*code_used)(void); // bytes of QEMU's memory for translated code
    size_t (*code_capacity)(void);
    void (*on_flush)(uint64_t id, void (*flushed)(uint64_t id));
} qemu;
static const char *const names[] = {"tb_gen_code",        "get_page_addr_code_hostp",
                                    "qemu_get_cpu",       "async_run_on_cpu",
                                    "curr_cflags",        "tb_lock_page0",
                                    "tb_link_page",       "tb_reset_jump",
                                    "tb_phys_invalidate", "tcg_code_size",
                                    "tcg_code_capacity",  "qemu_plugin_register_flush_cb"};

// A block that a fork translated. `bytes` begin `before` bytes before it, and end behind it or with its page.
struct note {
    uint64_t pc, base, at; // at: in QEMU's numbers of the guest's memory
    const uint8_t *host;   // the same place, in each fork
    uint32_t state, flags;
    uint16_t size, kept, before;
    struct spin spin;
    uint8_t bytes[];
};

// In memory that the template and all its forks share.
struct table {
    struct layout_proof proof;
    _Atomic unsigned used, notes, complete; // bytes of the arena; notes that were begun; notes that are complete
    _Atomic uint64_t key[SLOTS];        // of each note; 0: nobody has taken the slot
    _Atomic uint32_t place[MOST_NOTES]; // of a note in the arena, and 1; 0: it is not complete
    _Alignas(16) uint8_t arena[ARENA];
};

// What the template translated, and has not linked. A fork has its own copy.
struct prepared {
    const struct note *note;
    struct block *block;
    uint64_t pc; // of the note
    struct blocks_tail tail;
};

static struct table *table;         // NULL: nothing is rehearsed
static struct prepared *all[SLOTS]; // by place_of
static bool is_done[MOST_NOTES];    // in the template
static unsigned known;              // complete notes, in the template
static _Atomic bool finished;
static unsigned most_cpus;                   // for which QEMU shares out its memory for translated code
static uintptr_t prepared_from, prepared_to; // in QEMU's memory for translated code
static size_t env_at;                        // in a CPU; 0: not seen yet
static const struct note *rehearsed;         // what the template translates for its forks
static struct {
    struct env *env;
    uint32_t hflags;
    uint64_t eflags;
} replaced; // while it does
static _Thread_local struct {
    struct cpu *cpu; // for which it is translated
    bool is_judged;
    struct spin spin;
    struct blocks_tail tail;
    size_t size, instructions; // 0: there is none
} seen;                        // the block that this thread translates

void rehearsal_report(void) {
    report(table && layout_is_proven(&table->proof));
}

static size_t place_of(uint64_t pc, uint32_t state) {
    return (pc ^ (uint64_t)state << 32) * 0x9e3779b97f4a7c15 >> 40;
}

bool rehearsal_level(bool *is_user) {
    if (rehearsed)
        *is_user = (rehearsed->state & PRIVILEGE) == PRIVILEGE;
    return rehearsed != NULL;
}

bool rehearsal_read(uint64_t address, void *into, size_t size, bool *is_there) {
    if (!rehearsed)
        return false;
    uint64_t from = address - (rehearsed->pc - rehearsed->before);
    *is_there = from <= rehearsed->kept && size <= rehearsed->kept - from;
    memset(into, 0, size);
    if (*is_there)
        memcpy(into, rehearsed->bytes + from, size);
    return true;
}

const void *rehearsal_host(const void *host) {
    return rehearsed && host
               ? rehearsed->host + ((const uint8_t *)host - rehearsed->bytes - rehearsed->before)
               : host;
}

struct spin rehearsal_spin(const struct blocks_tail *tail) {
    seen.size = tail->end - tail->begin;
    seen.instructions = tail->total;
    if (rehearsed) {
        seen.tail = *tail;
        return rehearsed->spin;
    }
    if (!seen.is_judged)
        seen.spin = blocks_spin(tail);
    seen.is_judged = false;
    return seen.spin;
}

// ---- in a fork

// It will write into nearly all that is prepared, so the host copies it at once, and not page by page.
void rehearsal_forked(void) {
    is_fork = true;
    uintptr_t first = prepared_from & ~(uintptr_t)(LAYOUT_PAGE - 1);
    if (first)
        (void)madvise((void *)first, prepared_to - first, MADV_POPULATE_WRITE); // else they are copied when written
}

static uint64_t mixed(uint64_t digest, const void *data, size_t size) {
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ bytes[i]) * 0x100000001b3;
    return digest;
}

static struct env *env_of(struct cpu *cpu) {
    return (struct env *)(void *)((char *)cpu + env_at);
}

// Whether a block for this state can be translated in the template.
static bool is_usual(struct cpu *cpu, uint64_t pc, uint32_t state, uint32_t flags) {
    return env_at && layout_env_is(env_of(cpu), pc, state) && flags == qemu.flags(cpu);
}

static void write_note(const struct block *block, const struct note *about, const uint8_t *bytes) {
    unsigned size = (unsigned)(sizeof *about + about->kept + 15) & ~15u;
    unsigned number = atomic_fetch_add(&table->notes, 1), at = atomic_fetch_add(&table->used, size);
    if (number >= MOST_NOTES || at > ARENA - size)
        return;
    struct note *n = (struct note *)(void *)(table->arena + at);
    *n = *about;
    n->base = block->base;
    n->at = block->page[0];
    n->state = block->state;
    n->flags = block->flags;
    memcpy(n->bytes, bytes, n->kept);
    atomic_store(&table->place[number], at + 1);
    atomic_fetch_add(&table->complete, 1);
}

static void note(const struct block *block, uint64_t pc, const uint8_t *host) {
    unsigned offset = pc % LAYOUT_PAGE, end = offset + block->size + LONGEST;
    struct note about = {.pc = pc, .size = block->size, .host = host};
    about.before = offset < BEFORE ? 0 : BEFORE;
    about.spin = seen.spin;
    about.kept = (uint16_t)((end < LAYOUT_PAGE ? end : LAYOUT_PAGE) - offset + about.before);
    if (block->size > MOST_BYTES || offset + block->size > LAYOUT_PAGE ||
        atomic_load(&table->used) > ARENA - LAYOUT_PAGE || atomic_load(&table->notes) >= MOST_NOTES ||
        (!about.before && (block->state & PRIVILEGE)))
        return;
    uint64_t key = mixed(0xcbf29ce484222325, host - about.before, about.kept);
    key = mixed(key, &about.spin, sizeof about.spin);
    key ^= outer_charges() ? block->page[0] << 20 : 0;
    key = (key ^ pc * 0x9e3779b97f4a7c15 ^ (uint64_t)block->state << 32 ^ block->base ^ block->flags) | 1;
    for (unsigned i = 0; i < PROBES; i++) {
        size_t at = ((key >> 40) + i) & (SLOTS - 1);
        uint64_t was = 0;
        if (atomic_compare_exchange_strong(&table->key[at], &was, key))
            write_note(block, &about, host - about.before);
        if (!was || was == key)
            return;
    }
}

// As QEMU does with one that it has just translated.
static struct block *link_at(struct block *block, uint64_t at) {
    block->flags &= ~UNLINKED;
    block->page[0] = at;
    block->page[1] = LAYOUT_NOWHERE;
    block->jumps_here = 0;
    for (int i = 0; i < 2; i++) {
        block->next_jump[i] = block->jumps[i] = 0;
        if (block->jump[i] != LAYOUT_NO_JUMP)
            qemu.reset_jump(block, i);
    }
    qemu.lock_page(at);
    struct block *linked = qemu.link(block);
    if (linked != block)
        block->flags |= UNLINKED;
    return linked;
}

// One that the template has translated, of the same bytes, for the same state, and as much of a loop that
// waits; on a machine with memory also at the same place. Whether it closes such a loop depends on those that
// the guest came to before, so each is judged here (spin.h).
static struct block *prepared(const struct block *wanted, const uint8_t *host, uint64_t at) {
    if (!layout_is_proven(&table->proof))
        return NULL;
    size_t place = place_of(wanted->pc, wanted->state);
    for (struct prepared *p; (p = all[place & (SLOTS - 1)]); place++) {
        const struct note *n = p->note;
        bool is_asked = p->pc == wanted->pc && n->state == wanted->state && n->base == wanted->base &&
                        p->block->flags == (wanted->flags | UNLINKED) && (!outer_charges() || n->at == at);
        if (!is_asked || memcmp(host - n->before, n->bytes, n->kept) != 0)
            continue;
        if (!seen.is_judged)
            seen.spin = blocks_spin(&p->tail);
        seen.is_judged = true;
        if (!memcmp(&n->spin, &seen.spin, sizeof seen.spin))
            return link_at(p->block, at);
    }
    return NULL;
}

// Is called in place of QEMU's translator.
static struct block *translating(struct cpu *cpu, uint64_t pc, uint64_t base, uint32_t state,
                                 uint32_t flags) {
    void *host = NULL;
    seen.cpu = cpu;
    seen.is_judged = false;
    asked += is_fork;
    if (!is_fork || !is_usual(cpu, pc - base, state, flags))
        return qemu.translate(cpu, pc, base, state, flags);
    uint64_t at = qemu.fetch(env_of(cpu), pc, &host);
    const struct block wanted = {.pc = pc, .base = base, .state = state, .flags = flags};
    struct block *block = at == LAYOUT_NOWHERE ? NULL : prepared(&wanted, host, at);
    if (block) {
        met++;
        return block;
    }
    seen.instructions = 0;
    block = qemu.translate(cpu, pc, base, state, flags);
    const struct layout_told told = {pc, base, at, state, flags, seen.size, seen.instructions};
    if (at != LAYOUT_NOWHERE && told.instructions && layout_look(&table->proof, block, &told) &&
        block->page[1] == LAYOUT_NOWHERE)
        note(block, pc, host);
    return block;
}

// Nothing that was translated is there any more. All is translated again, and loops are judged again, so
// digits depend on when that is: in a fork of a template that has rehearsed, earlier than in a run that
// starts by itself.
static void flushed(uint64_t id) {
    (void)id;
    if (is_fork && prepared_from)
        journal_refuse(
            "QEMU's memory for translated code is used up, which no fork can repeat: start this run warm");
    prepared_from = prepared_to = 0;
    memset(all, 0, sizeof all);
    layout_forget();
}

// ---- in the template

// Is called in place of QEMU's look at the memory from which it translates. The bytes are those of the note,
// and so is the state of the CPU: QEMU's translator takes some of it from the CPU itself.
static uint64_t fetching(struct env *env, uint64_t pc, void **host) {
    if (!env_at && seen.cpu)
        env_at = (size_t)((char *)env - (char *)seen.cpu);
    if (!rehearsed)
        return qemu.fetch(env, pc, host);
    if (pc != rehearsed->pc)
        return LAYOUT_NOWHERE;
    replaced.env = env;
    replaced.hflags = env->hflags;
    replaced.eflags = env->eflags;
    env->hflags = rehearsed->state & ~LAYOUT_IN_EFLAGS;
    env->eflags = (env->eflags & ~(uint64_t)LAYOUT_IN_EFLAGS) | (rehearsed->state & LAYOUT_IN_EFLAGS);
    *host = (void *)(uintptr_t)(rehearsed->bytes + rehearsed->before);
    return rehearsed->at;
}

static void keep(const struct note *n, struct block *block) {
    struct prepared *p = malloc(sizeof *p);
    if (!p)
        abort();
    *p = (struct prepared){n, block, n->pc, seen.tail};
    size_t place = place_of(n->pc, n->state);
    while (all[place & (SLOTS - 1)])
        place++;
    all[place & (SLOTS - 1)] = p;
    if (!prepared_from)
        prepared_from = prepared_to = (uintptr_t)block;
    if ((uintptr_t)block - prepared_to < NEIGHBOUR)
        prepared_to = (uintptr_t)block->code + block->code_size;
}

static void prepare(struct cpu *cpu, const struct note *n) {
    rehearsed = n;
    struct block *block = qemu.translate(cpu, n->pc, n->base, n->state, n->flags);
    rehearsed = NULL;
    replaced.env->hflags = replaced.hflags;
    replaced.env->eflags = replaced.eflags;
    if (block->page[0] != n->at)
        return;
    qemu.unlink(block, LAYOUT_NOWHERE);
    if (block->size == n->size && block->flags == (n->flags | UNLINKED))
        keep(n, block);
}

// QEMU's translator leaves by a long jump if the memory is full, which nobody would catch here. That memory
// is shared out to the CPUs, so the first may have a part only of what is free; the rest is for the forks.
static bool has_room(void) {
    size_t capacity = qemu.code_capacity();
    return capacity >= REHEARSAL_AMPLE && qemu.code_used() < capacity / 2 / most_cpus;
}

static void work(struct cpu *cpu, void *unused) {
    (void)unused;
    unsigned notes = atomic_load(&table->notes);
    // As the guest came to them: neighbours in memory.
    for (unsigned i = 0; i < notes && i < MOST_NOTES && has_room(); i++) {
        uint32_t place = atomic_load(&table->place[i]);
        if (place && !is_done[i])
            prepare(cpu, (const struct note *)(void *)(table->arena + place - 1));
        is_done[i] = place != 0;
    }
    atomic_store(&finished, true);
}

bool rehearsal_translate(void) {
    unsigned notes = table ? atomic_load(&table->complete) : 0;
    if (notes == known || !layout_is_proven(&table->proof))
        return true;
    known = notes;
    atomic_store(&finished, false);
    qemu.run_on_cpu(qemu.get_cpu(0), work, NULL);
    for (int look = 0; look < PATIENCE && !atomic_load(&finished); look++)
        usleep(200);
    return atomic_load(&finished);
}

// ---- the setup

void rehearsal_setup(const char *target, int api, int cpus, uint64_t id) {
    void *found[sizeof names / sizeof *names];
    if (api != 4 || strcmp(target, "x86_64") != 0)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(found[i] = dlsym(RTLD_DEFAULT, names[i])))
            return;
    struct table *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return;
    // If only the first can be diverted, nothing is rehearsed.
    void *fetches = divert_calls(found[1], (const void *)(uintptr_t)fetching);
    found[1] = fetches ? fetches : found[1];
    void *translates = fetches ? divert_calls(found[0], (const void *)(uintptr_t)translating) : NULL;
    found[0] = translates ? translates : found[0];
    _Static_assert(sizeof found == sizeof qemu, "each function has a name");
    memcpy(&qemu, found, sizeof qemu);
    if (!translates)
        return;
    qemu.on_flush(id, flushed);
    most_cpus = cpus < 4 ? 4 : (unsigned)cpus;
    table = shared;
}

#else

void rehearsal_report(void) {
    report(false);
}

void rehearsal_forked(void) {
    is_fork = true;
}

void rehearsal_setup(const char *target, int api, int cpus, uint64_t id) {
    (void)target, (void)api, (void)cpus, (void)id;
}

bool rehearsal_level(bool *is_user) {
    (void)is_user;
    return false;
}

bool rehearsal_read(uint64_t address, void *into, size_t size, bool *is_there) {
    (void)address, (void)into, (void)size, (void)is_there;
    return false;
}

const void *rehearsal_host(const void *host) {
    return host;
}

struct spin rehearsal_spin(const struct blocks_tail *tail) {
    return blocks_spin(tail);
}

bool rehearsal_translate(void) {
    return true;
}

#endif
