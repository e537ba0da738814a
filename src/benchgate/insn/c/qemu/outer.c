#include "outer.h"

#include "access.h"
#include "blocks.h"
#include "counts.h"
#include "delays.h"
#include "marks.h"
#include "operations.h"
#include "polls.h"
#include "profile.h"
#include "rehearsal.h"
#include "sharing.h"
#include "stacks.h"
#include "threads.h"
#include "threads_stays.h"

// ---- translation

struct spin outer_spin(const struct blocks_tail *tail) {
    return rehearsal_spin(tail);
}

void outer_block(struct qemu_plugin_tb *tb, size_t instructions, struct spin spin) {
    polls_block(tb, instructions, spin);
    profile_block(tb, instructions);
    stacks_block(tb, instructions);
    access_block(tb, instructions);
    delays_block(tb, instructions);
    counts_block(tb, instructions, spin.counted);
    stays_block(tb, instructions, counts_of_program());
    operations_block(qemu_plugin_tb_vaddr(tb));
}

// What the instruction is to the clock, a call of a program, or a mark.
static void meaning(struct qemu_plugin_insn *insn, const struct arch_insn *seen, size_t left) {
    enum arch_kind kind = arch_guest->kind(seen);
    blocks_count(insn, kind);
    if (kind == ARCH_CALLS && counts_of_program()) // RISC-V's kernel calls its firmware so
        stays_call(insn);
    int mark = kind == ARCH_OTHER ? arch_guest->mark(seen) : ARCH_NO_MARK;
    if (mark != ARCH_NO_MARK)
        marks_instrument(insn, (unsigned)mark, left, counts_of_program());
}

void outer_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address, size_t left) {
    delays_instruction(insn, seen, left, address);
    operations_instruction(insn, seen, address, left);
    meaning(insn, seen, left);
    stacks_instruction(insn, seen, address);
    counts_instruction(insn, seen, address);
    threads_instruction(insn, address, left);
    access_instruction(insn, seen, left - 1);
}

// ---- the guest

void outer_clock_read(unsigned vcpu, uint64_t time) {
    operations_shown(vcpu, time);
}

void outer_mark(unsigned kind, unsigned vcpu, uint64_t left, bool is_program, uint64_t time) {
    sharing_mark(kind, time);
    counts_mark(kind, vcpu, left, is_program, time);
    operations_mark(kind, vcpu, time);
}

void outer_profile(unsigned kind, uint64_t time) {
    profile_mark(kind, time);
    stacks_mark(kind);
}

void outer_window(bool opens, uint64_t time) {
    threads_window(opens, time);
}

// ---- the clock

void outer_halted(unsigned vcpu, bool halted, uint64_t time) {
    threads_halted(vcpu, halted, time);
}

void outer_halts(unsigned vcpu) {
    delays_halts(vcpu);
}

void outer_interrupted(unsigned vcpu, int sender, uint64_t time) {
    delays_interrupted(vcpu, sender, time);
}

void outer_opens(bool open) {
    delays_window(open);
}

void outer_opened(bool open, uint64_t now, uint64_t latest) {
    access_window(open, now, latest);
}

void outer_places(void) {
    delays_places();
}

// ---- the machine's model, and an exploration

void outer_turn(unsigned vcpu) {
    access_turn(vcpu);
}

uint64_t outer_interrupt(unsigned vcpu) {
    return access_interrupt(vcpu);
}

bool outer_charges(void) {
    return access_charges();
}

bool outer_delays(void) {
    return delays_on();
}

void outer_report(uint64_t latest) {
    access_report(latest);
}
