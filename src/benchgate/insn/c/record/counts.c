// An instruction counts when it is about to be executed: one that faults, and is repeated, counts twice.
#include "counts_state.h"

#if INSN_API >= 3 && !defined INSN_UNCOUNTED

#include "callees.h"
#include "clock.h"
#include "threads_guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ARGUMENT 2 // those of system calls are up to here in the registers of a function's

struct counts_state counts;
static struct hooks hooks;
static bool hook_tells_bytes;
static unsigned slot_of_hook[HOOKS_MOST];
static enum callees_deed deed_of_hook[HOOKS_MOST];
static unsigned pair_of_hook[HOOKS_MOST]; // of an end, the hook of its begin; of others, itself
static uint8_t lengths[COUNTS_NUMBERS]; // 1 + the argument that says how many bytes, or 0
static uint64_t near_hooks[64]; // a bit for each address of a hook, modulo 4096

static void name(unsigned slot, const char *group, const char *word) {
    snprintf(counts.names[slot], sizeof counts.names[slot], "%s%s", group, word);
    counts.is_counted[slot] = true;
}

static bool hooked(enum hook_kind kind) {
    return hooks.has[kind];
}

static void name_all(void) {
    static const char *const plain[COUNTS_EVENTS] = {
        [COUNTS_SYSCALLS] = "syscalls", [COUNTS_ATOMICS] = "atomics",
        [COUNTS_SPACES] = "spaces", [COUNTS_HALTS] = "halts",
        [COUNTS_IPIS] = "ipis", [COUNTS_FAULTS] = "faults",
        [COUNTS_WAKES] = "wakes", [COUNTS_SWITCHES] = "switches",
        [COUNTS_FORKS] = "forks", [COUNTS_EXITS] = "exits",
        [COUNTS_WORKED] = "worked", [COUNTS_INSTRUCTIONS] = "instructions",
        [COUNTS_PROGRAMS] = "programs", [COUNTS_SPUN] = "spun",
        [COUNTS_PRODUCTS] = "products", [COUNTS_DIVISIONS] = "divisions",
        [COUNTS_READS] = "reads", [COUNTS_WRITES] = "writes",
    };
    for (unsigned i = 0; i < COUNTS_EVENTS; i++)
        name(i, "", plain[i]);
    counts.is_counted[COUNTS_IPIS] = hooked(HOOK_SEND_IPI);
    counts.is_counted[COUNTS_FAULTS] = hooked(HOOK_FAULT);
    counts.is_counted[COUNTS_SWITCHES] = hooked(HOOK_SWITCH);
    counts.is_counted[COUNTS_WAKES] = hooked(HOOK_WAKE);
    counts.is_counted[COUNTS_FORKS] = hooked(HOOK_FORK);
    counts.is_counted[COUNTS_EXITS] = hooked(HOOK_EXIT);
    counts.is_counted[COUNTS_READS] = counts.is_counted[COUNTS_WRITES] = hooks.accesses;
    counts.slots = COUNTS_EVENTS;
}

// The events of one name, of several hooks maybe.
static unsigned event_slot(const char *word) {
    for (unsigned i = COUNTS_EVENTS; i < counts.slots; i++)
        if (strcmp(counts.names[i] + strlen("events."), word) == 0)
            return i;
    if (counts.slots < COUNTS_MOST)
        name(counts.slots++, "events.", word);
    return counts.slots - 1; // COUNTS_MOST is more than all names and hooks
}

// Its slot, or COUNTS_MOST if it is not counted.
static unsigned slot_of(const struct hook *h) {
    switch (h->kind) {
    case HOOK_FAULT:
        return COUNTS_FAULTS;
    case HOOK_SWITCH:
        return COUNTS_SWITCHES;
    case HOOK_WAKE:
        return COUNTS_WAKES;
    case HOOK_FORK:
        return COUNTS_FORKS;
    case HOOK_EXIT:
        return COUNTS_EXITS;
    case HOOK_SYSCALL:
        return COUNTS_SYSCALLS;
    case HOOK_SEND_IPI:
        return COUNTS_IPIS;
    case HOOK_EVENT:
        return event_slot(h->name);
    default:
        return COUNTS_MOST;
    }
}

// An event that ends has the name of the one that begins, but for its first letter.
static unsigned pair_of(unsigned n) {
    for (unsigned i = 0; i < hooks.count && deed_of_hook[n] == CALLEES_ENDS; i++)
        if (callees_deed(hooks.all[i].name) == CALLEES_BEGINS &&
            strcmp(hooks.all[i].name + 1, hooks.all[n].name + 1) == 0)
            return i;
    return n;
}

static void know_hook(unsigned n) {
    const struct hook *h = &hooks.all[n];
    deed_of_hook[n] = h->kind == HOOK_EVENT ? callees_deed(h->name) : CALLEES_HAPPENS;
    pair_of_hook[n] = pair_of(n);
    slot_of_hook[n] = slot_of(h);
    hook_tells_bytes |= h->bytes.length != 0;
    for (unsigned i = 0; i < h->places; i++)
        near_hooks[h->at[i] / 64 % 64] |= UINT64_C(1) << h->at[i] % 64;
}

static bool read_lengths(const char *text) {
    do {
        unsigned call, argument;
        int used = 0;
        bool is_pair = sscanf(text, "%4u:%1u%n", &call, &argument, &used) == 2;
        if (!is_pair || call >= COUNTS_NUMBERS || argument > MOST_ARGUMENT)
            return false;
        lengths[call] = (uint8_t)(1 + argument);
        text += used;
    } while (*text++ == ':');
    return !text[-1];
}

const char *counts_setup(const char *observed, const char *text, unsigned count) {
    if (!guest_has_registers())
        return NULL;
    const char *why = observed && guest_can_read() ? hooks_read(&hooks, observed) : NULL;
    if (!why && text && !read_lengths(text))
        why = "the lengths of system calls are not pairs of numbers (option bytes=NUMBER:ARGUMENT)";
    if (why)
        return why;
    counts.vcpus = count;
    name_all();
    for (unsigned n = 0; n < hooks.count; n++)
        know_hook(n);
    counts.made = calloc(count, sizeof *counts.made);
    counts.score = counts.made && counts_spans_make() ? qemu_plugin_scoreboard_new(COUNTS_APART) : NULL;
    return counts.score ? NULL : "no memory for counts";
}

void counts_vcpu(unsigned vcpu) {
    if (counts.score && !guest_vcpu(vcpu))
        counts.is_blind = true;
}

// ---- counting

struct qemu_counter counts_counter(unsigned slot) {
    return (struct qemu_counter){counts.score, slot * sizeof(uint64_t)};
}

static void add(unsigned vcpu, unsigned slot, uint64_t value) {
    uint64_t *row = qemu_plugin_scoreboard_find(counts.score, vcpu);
    row[slot] += value;
}

// The number of bytes as a program gives it. One that is negative moves nothing.
static uint64_t bytes_of(uint64_t value) {
    return value < UINT64_C(1) << 40 ? value : 0;
}

static void add_call(unsigned vcpu, uint64_t number, uint64_t bytes) {
    uint64_t at = number < COUNTS_NUMBERS - 1 ? number : COUNTS_NUMBERS - 1;
    add(vcpu, COUNTS_SYSCALLS, 1);
    counts.made[vcpu].times[at]++;
    counts.made[vcpu].bytes[at] += bytes;
}

static void calls(unsigned vcpu, void *unused) {
    (void)unused;
    uint64_t number = guest_call(vcpu);
    unsigned length = number < COUNTS_NUMBERS ? lengths[number] : 0;
    add_call(vcpu, number, length ? bytes_of(guest_argument(vcpu, length - 1)) : 0);
}

static void may_send(unsigned vcpu, void *unused) {
    (void)unused;
    if (arch_guest->sends(guest_call(vcpu)))
        add(vcpu, COUNTS_IPIS, 1);
}

// At a function of the program; how much it adds.
static uint64_t called(unsigned n, unsigned vcpu) {
    if (deed_of_hook[n] != CALLEES_STARTS)
        return callees_count(deed_of_hook[n], pair_of_hook[n], vcpu);
    counts_spans_start(vcpu);
    return 1;
}

static void reached(unsigned vcpu, void *data) {
    const struct hook *h = &hooks.all[(uintptr_t)data];
    guest_begin(vcpu);
    if (h->when.length && !program_run(&h->when, vcpu, 0))
        return;
    if (h->kind == HOOK_SYSCALL)
        add_call(vcpu, h->number.length ? program_run(&h->number, vcpu, 0) & UINT32_MAX : COUNTS_NUMBERS,
                 h->bytes.length ? bytes_of(program_run(&h->bytes, vcpu, 0)) : 0);
    else if (deed_of_hook[(uintptr_t)data] != CALLEES_HAPPENS)
        add(vcpu, slot_of_hook[(uintptr_t)data], called((unsigned)(uintptr_t)data, vcpu));
    else
        add(vcpu, slot_of_hook[(uintptr_t)data],
            h->adds.length ? bytes_of(program_run(&h->adds, vcpu, 0)) : 1);
}

static void count(struct qemu_plugin_insn *insn, unsigned slot) {
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_INLINE_ADD, counts_counter(slot), 1);
}

static void call_back(struct qemu_plugin_insn *insn, qemu_exec_callback *callback, uintptr_t data) {
    qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, QEMU_READS_REGS, (void *)data);
}

static void look_for_hooks(struct qemu_plugin_insn *insn, uint64_t address) {
    if (!(near_hooks[address / 64 % 64] >> address % 64 & 1))
        return;
    for (unsigned n = 0; n < hooks.count; n++) {
        const struct hook *h = &hooks.all[n];
        unsigned slot = slot_of_hook[n];
        bool reads = h->when.length || h->adds.length || h->kind == HOOK_SYSCALL || deed_of_hook[n];
        for (unsigned i = 0; i < h->places && slot < COUNTS_MOST; i++)
            if (h->at[i] == address && reads)
                call_back(insn, reached, n);
            else if (h->at[i] == address)
                count(insn, slot);
    }
}

enum level { NOT_READ, OF_PROGRAM, OF_KERNEL };

static _Thread_local enum level level; // of the block

// All of a block has one privilege: that of its vCPU, which is about to execute it.
static bool is_of(enum level wanted) {
    bool is_user = false;
    if (level == NOT_READ && !guest_level((unsigned)clock_self, &is_user))
        counts.is_blind = true;
    if (level == NOT_READ)
        level = is_user ? OF_PROGRAM : OF_KERNEL;
    return level == wanted;
}

void counts_block(struct qemu_plugin_tb *tb, size_t instructions, int waiting) {
    level = NOT_READ;
    if (!counts.score || counts.is_blind || !is_of(OF_PROGRAM))
        return;
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD, counts_counter(COUNTS_PROGRAMS),
                                                       instructions);
    if (waiting)
        qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD, counts_counter(COUNTS_SPUN),
                                                           (uint64_t)waiting);
}

static void count_access(struct qemu_plugin_insn *insn, int accesses, unsigned slot) {
    qemu_plugin_register_vcpu_mem_inline_per_vcpu(insn, accesses, QEMU_INLINE_ADD, counts_counter(slot), 1);
}

// What the program does with numbers and memory.
static void count_own(struct qemu_plugin_insn *insn, const struct arch_insn *seen) {
    bool is_store = arch_guest->stores && arch_guest->stores(seen);
    if (arch_guest->atomic(seen) && !is_store)
        count(insn, COUNTS_ATOMICS);
    if (arch_guest->multiplies(seen))
        count(insn, COUNTS_PRODUCTS);
    if (arch_guest->divides(seen))
        count(insn, COUNTS_DIVISIONS);
    if (arch_guest->kind(seen) == ARCH_PAUSE)
        count(insn, COUNTS_SPUN);
    if (!hooks.accesses)
        return;
    count_access(insn, QEMU_READS, COUNTS_READS);
    count_access(insn, QEMU_WRITES, COUNTS_WRITES);
}

static void count_act(struct qemu_plugin_insn *insn, enum arch_act act) {
    if (act == ARCH_HALTS)
        count(insn, COUNTS_HALTS);
    else if (act == ARCH_MAPS)
        count(insn, COUNTS_SPACES);
    else if (!hooked(HOOK_SEND_IPI) && act == ARCH_SENDS)
        count(insn, COUNTS_IPIS);
    else if (!hooked(HOOK_SEND_IPI))
        call_back(insn, may_send, 0);
}

void counts_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address) {
    if (!counts.score || counts.is_blind)
        return;
    if (arch_guest->kind(seen) == ARCH_CALLS && !hooked(HOOK_SYSCALL) && is_of(OF_PROGRAM))
        call_back(insn, calls, 0);
    if (is_of(OF_PROGRAM))
        count_own(insn, seen);
    enum arch_act act = arch_guest->act(seen);
    if (act != ARCH_NO_ACT && is_of(OF_KERNEL))
        count_act(insn, act);
    look_for_hooks(insn, address);
}

uint64_t counts_products(unsigned vcpu) {
    return counts.score ? qemu_plugin_u64_get(counts_counter(COUNTS_PRODUCTS), vcpu) : 0;
}

bool counts_of_program(void) {
    return counts.score && !counts.is_blind && is_of(OF_PROGRAM);
}

bool counts_tells_bytes(unsigned number) {
    return hooked(HOOK_SYSCALL) ? hook_tells_bytes : lengths[number];
}

#else

const char *counts_setup(const char *observed, const char *lengths, unsigned vcpus) {
    (void)observed, (void)lengths, (void)vcpus;
    return NULL;
}

void counts_vcpu(unsigned vcpu) {
    (void)vcpu;
}

void counts_block(struct qemu_plugin_tb *tb, size_t instructions, int waiting) {
    (void)tb, (void)instructions, (void)waiting;
}

void counts_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address) {
    (void)insn, (void)seen, (void)address;
}

uint64_t counts_products(unsigned vcpu) {
    (void)vcpu;
    return 0;
}

bool counts_of_program(void) {
    return false;
}

#endif
