// A mark's time is its vCPU's time just before the mark. A block counts as a whole when it is entered, so the
// instructions from the mark to the end of its block are subtracted.
#include "marks.h"

#include "clock.h"
#include "counter.h"
#include "journal.h"
#include "outer.h"

#include <stdatomic.h>

#define MOST_MARKS 4096 // in one log; no supported workload executes more

static uint64_t first_byte, last_byte; // of marks_between_lines; both 0: the window lies between marks

void marks_between_lines(uint64_t from, uint64_t to) {
    first_byte = from;
    last_byte = to;
}

void marks_line(uint64_t bytes, uint64_t time) {
    if (last_byte && bytes == first_byte)
        outer_profile(MARKS_TOTAL_BEGIN, time);
    else if (last_byte && bytes == last_byte)
        outer_profile(MARKS_TOTAL_END, time);
}

// The callback's pointer carries the kind, whether a program executes it, and the distance, so a translation
// needs no allocation.
static void executed(unsigned vcpu, void *data) {
    static _Atomic unsigned seen;
    uintptr_t packed = (uintptr_t)data;
    unsigned kind = packed & 0xff;
    bool opens = kind == MARKS_TOTAL_BEGIN || kind == MARKS_WORK_BEGIN;
    if (opens)
        clock_level(vcpu);
    uint64_t time = clock_before(vcpu, packed >> 9);
    unsigned number = atomic_fetch_add(&seen, 1);
    if (number < MOST_MARKS)
        journal_line("mark %02x %u %llu", kind, vcpu, (unsigned long long)time);
    else if (number == MOST_MARKS)
        journal_line("flood %u", MOST_MARKS);
    if (!last_byte)
        outer_profile(kind, time);
    outer_mark(kind, vcpu, packed >> 9, packed >> 8 & 1, time);
    if (!opens && kind != MARKS_TOTAL_END)
        return;
    outer_window(opens, time);
    clock_window(vcpu, opens);
}

void marks_instrument(struct qemu_plugin_insn *insn, unsigned kind, size_t left, bool is_program) {
    uintptr_t packed = (uintptr_t)left << 9 | (uintptr_t)is_program << 8 | kind;
    qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, QEMU_NO_REGS, (void *)packed);
}
