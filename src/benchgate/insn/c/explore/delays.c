// Lines of the log:
//   explore STRATEGY SEED
//   delay VCPU INSTRUCTION NS TIME PC    a stall, as it was made
//   unlogged TIME                        from here on stalls are made and not written
//   at VCPU PC                           the block of code that it entered last
//   explored STEPS DELAYS                synchronising instructions in the range (place: executions of listed
//                                        ones); stalls in all
//
// A vCPU can be stalled before each instruction that synchronises or may access memory: between two of these
// it does nothing that another vCPU could see. The places are the same for every strategy, so that a list of
// stalls finds each again.
#include "delays.h"

#if INSN_API >= 3

#include "clock.h"
#include "explore.h"
#include "journal.h"
#include "places.h"

#include <stdio.h>
#include <string.h>

// A block counts as a whole when it is entered. Translated code compares the counter with a constant, so the
// counter is FAR plus the instructions that the vCPU has begun minus those before its next stall.
#define FAR (UINT64_C(1) << 40)

#define LEFT_BITS 10 // a block has at most 512 instructions

static struct explore explore;
static bool on;
static struct qemu_counter beyond, place;
static uint64_t target[LOCKSTEP_MAX]; // the instruction of its next stall, at most FAR away
static uint64_t told[LOCKSTEP_MAX];   // the place that was written last
static uint64_t slept[LOCKSTEP_MAX];  // the instructions that it had begun when it halted last
static uint64_t made;
static const char *file; // the path of the exploration

bool delays_on(void) {
    return on;
}

static const char *read_rules(const char *path, unsigned vcpus, bool whole) {
    static char problem[300], message[400];
    explore = (struct explore){.open = whole};
    FILE *in = fopen(path, "re");
    if (!in)
        return "the exploration cannot be read (option explore=FILE)";
    bool good = explore_read(in, &explore.rules, problem, sizeof problem);
    fclose(in);
    if (!good) {
        snprintf(message, sizeof message, "%.90s: %s", path, problem);
        return message;
    }
    return explore_begin(&explore, vcpus);
}

const char *delays_setup(const char *path, unsigned vcpus, bool whole) {
    const char *why = read_rules(path, vcpus, whole);
    file = path;
    on = true;
    beyond.score = qemu_plugin_scoreboard_new(128);
    place = (struct qemu_counter){beyond.score, sizeof(uint64_t)};
    for (unsigned c = 0; c < vcpus; c++)
        target[c] = FAR;
    return why;
}

void delays_header(void) {
    if (on)
        journal_line("explore %s %llu", explore_name[explore.rules.strategy],
                     (unsigned long long)explore.rules.seed);
}

void delays_places(void) {
    for (unsigned c = 0; on && c < explore.vcpus; c++) {
        uint64_t now = qemu_plugin_u64_get(place, c);
        if (now != told[c])
            journal_line("at %u %llx", c, (unsigned long long)now);
        told[c] = now;
    }
}

void delays_report(void) {
    delays_places();
    if (on)
        journal_line("explored %llu %llu", (unsigned long long)explore.steps, (unsigned long long)made);
}

void delays_window(bool open) {
    explore.open = open;
}

// ---- when

// The instructions that the vCPU has begun. Its present block counts as a whole.
static uint64_t begun(unsigned c) {
    return qemu_plugin_u64_get(beyond, c) + target[c] - FAR;
}

static void aim(unsigned c) {
    uint64_t next = explore_next(&explore, c), now = begun(c);
    target[c] = next < now + FAR ? next : now + FAR;
    qemu_plugin_u64_set(beyond, c, FAR + now - target[c]);
}

void delays_appear(unsigned c) {
    if (on)
        aim(c);
}

// What is translated calls back at the places of a strategy; the others have the same.
static bool has_same_places(const struct explore_rules *one, const struct explore_rules *other) {
    bool is_place = one->strategy == EXPLORE_PLACE;
    return is_place == (other->strategy == EXPLORE_PLACE) &&
           (!is_place || (one->places == other->places && memcmp(one->place, other->place, sizeof one->place) == 0));
}

static bool begins_before(uint64_t time) {
    bool listed = explore.rules.strategy == EXPLORE_POINTS, before = !listed && explore.rules.from < time;
    for (unsigned c = 0; c < explore.vcpus && listed; c++)
        before |= explore_next(&explore, c) < begun(c);
    return before;
}

// From the begin on this exploration would have done the same up to here: nothing.
static const char *does_not_fit(const struct explore *before, uint64_t time) {
    if (!has_same_places(&before->rules, &explore.rules))
        return "its exploration has other places than that of the run that was forked";
    if (made)
        return "the run that was forked has been stalled itself";
    if (explore.rules.strategy == EXPLORE_ANYWHERE)
        return "strategy anywhere counts from the begin of a run";
    return begins_before(time) ? "its exploration begins before the moment of the fork" : NULL;
}

const char *delays_from(uint64_t time) {
    static struct explore before;
    if (!on)
        return NULL;
    before = explore;
    const char *why = read_rules(places_own(file), before.vcpus, before.open);
    if (!why && memcmp(&before.rules, &explore.rules, sizeof before.rules) == 0) {
        explore = before;
        return NULL;
    }
    explore.alone = before.alone;
    why = why ? why : does_not_fit(&before, time);
    for (unsigned c = 0; !why && c < before.vcpus; c++)
        aim(c);
    return why;
}

const char *delays_again(void) {
    unsigned vcpus = explore.vcpus;
    if (!on)
        return NULL;
    const char *why = read_rules(places_own(file), vcpus, explore.open);
    for (unsigned c = 0; !why && c < vcpus; c++) {
        target[c] = FAR;
        qemu_plugin_u64_set(beyond, c, 0);
        aim(c);
    }
    return why;
}

void delays_halts(unsigned c) {
    if (on)
        slept[c] = begun(c);
}

void delays_interrupted(unsigned c, int sender, uint64_t now) {
    if (!on)
        return;
    explore.alone = false; // the one that interrupts, or a timer, acts at the same time
    explore_interrupted(&explore, c, begun(c), sender, sender < 0 ? 0 : begun((unsigned)sender), now);
    aim(c);
    if (sender >= 0)
        aim((unsigned)sender);
}

// ---- an instruction is about to be executed

struct here {
    size_t left;
    uint64_t pc, at, now;
};

static struct here here(unsigned c, void *data) {
    size_t left = (uintptr_t)data & ((1u << LEFT_BITS) - 1);
    return (struct here){left, (uint64_t)((intptr_t)data >> LEFT_BITS), begun(c) - left, clock_before(c, left)};
}

static void record(unsigned c, const struct here *h, uint64_t ns) {
    if (made++ < EXPLORE_MOST)
        journal_line("delay %u %llu %llu %llu %llx", c, (unsigned long long)h->at, (unsigned long long)ns,
                     (unsigned long long)h->now, (unsigned long long)h->pc);
    else if (made == EXPLORE_MOST + 1)
        journal_line("unlogged %llu", (unsigned long long)h->now);
}

// QEMU wakes halted vCPUs for jobs of its own, at times that the host chooses. So one that has executed nothing
// since its halt counts as halted.
static void look_around(unsigned self, bool *busy) {
    struct clock_look now;
    clock_look(&now);
    explore.alone = true;
    for (unsigned c = 0; c < explore.vcpus; c++) {
        bool awake = now.active[c] && begun(c) != slept[c];
        busy[c] = awake && now.works[c];
        explore.alone &= !awake || c == self;
    }
}

static bool stalls(unsigned c, const struct here *h, uint64_t *ns) {
    bool busy[LOCKSTEP_MAX];
    look_around(c, busy);
    return explore_take(&explore, c, h->at, h->now, busy, ns);
}

static void reached(unsigned c, void *data) {
    struct here h = here(c, data);
    for (uint64_t ns; stalls(c, &h, &ns); h = here(c, data)) {
        record(c, &h, ns);
        if (ns)
            clock_stop_here(c, h.left, ns);
    }
    aim(c);
}

static void synchronises(unsigned c, void *data) {
    struct here h = here(c, data);
    bool busy[LOCKSTEP_MAX];
    look_around(c, busy);
    explore_synchronises(&explore, c, h.at, h.now);
    aim(c);
}

// ---- at translation

static bool may_be_seen(const struct arch_insn *seen) {
    bool conditional;
    int64_t by;
    if (arch_guest->jump(seen, &conditional, &by))
        return false;
    struct arch_effect effect = arch_guest->effect(seen);
    return effect.unknown || effect.loads;
}

void delays_block(struct qemu_plugin_tb *tb, size_t instructions) {
    if (!on)
        return;
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD, beyond, instructions);
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_STORE, place, qemu_plugin_tb_vaddr(tb));
}

// A callback is given one pointer: 54 bits of the address, and the place in the block.
void delays_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, size_t left,
                        uint64_t at) {
    bool meets = on && explore_meets(&explore, at, arch_guest->synchronises(seen));
    if (!on || (!meets && !may_be_seen(seen)))
        return;
    void *data = (void *)(uintptr_t)(at << LEFT_BITS | left);
    if (meets)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, synchronises, QEMU_NO_REGS, data);
    qemu_plugin_register_vcpu_insn_exec_cond_cb(insn, reached, QEMU_NO_REGS, QEMU_COND_GE, beyond, FAR + left,
                                                data);
}

#else

bool delays_on(void) {
    return false;
}

const char *delays_setup(const char *path, unsigned vcpus, bool whole) {
    (void)path, (void)vcpus, (void)whole;
    return "exploration needs QEMU 9.1 or newer (plugin API 3)";
}

void delays_header(void) {}

const char *delays_from(uint64_t time) {
    (void)time;
    return NULL;
}

const char *delays_again(void) {
    return NULL;
}

void delays_report(void) {}

void delays_places(void) {}

void delays_window(bool open) {
    (void)open;
}

void delays_appear(unsigned c) {
    (void)c;
}

void delays_halts(unsigned c) {
    (void)c;
}

void delays_interrupted(unsigned c, int sender, uint64_t now) {
    (void)c, (void)sender, (void)now;
}

void delays_block(struct qemu_plugin_tb *tb, size_t instructions) {
    (void)tb, (void)instructions;
}

void delays_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, size_t left,
                        uint64_t at) {
    (void)insn, (void)seen, (void)left, (void)at;
}

#endif
