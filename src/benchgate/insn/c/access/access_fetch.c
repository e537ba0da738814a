// Instruction fetches. A block fetches the lines that it covers when it is entered. Translated code itself compares
// each line with the one that the vCPU fetched last from the same set of its L1i, and calls only if they differ:
// else the fetch changes nothing but a count.
#include "access_state.h"

#if INSN_API >= 3

#include "journal.h"
#include "ram.h"
#include "rehearsal.h"

#include <string.h>

// Each vCPU has the last line of each set of its L1i, the number of fetched lines, and the last fetched page.
static struct qemu_counter recent, fetched, page;
static uint64_t asked[LOCKSTEP_MAX];       // of `fetched`: those that the model was asked for, or told of

static uint64_t *recent_in(unsigned c, uint64_t line) {
    uint64_t *sets = qemu_plugin_scoreboard_find(recent.score, c);
    return &sets[line % access_shape.l1i.sets];
}

static void lost(void *unused, unsigned c, uint64_t line) {
    (void)unused;
    if (*recent_in(c, line) == memory_key(line))
        *recent_in(c, line) = 0;
}

void access_fetch_setup(void) {
    const struct memory_level *l1i = &access_shape.l1i;
    recent.score = qemu_plugin_scoreboard_new(l1i->sets * sizeof(uint64_t));
    fetched.score = qemu_plugin_scoreboard_new(128);
    page = (struct qemu_counter){fetched.score, sizeof(uint64_t)};
    memory_on_code_lost(access_memory, lost, NULL);
}

void access_fetch_count(unsigned c) {
    uint64_t all = qemu_plugin_u64_get(fetched, c);
    memory_fetched(&access_memory->front[c], all - asked[c]);
    asked[c] = all;
}

#define LEFT_BITS 10 // a block has at most 512 instructions

static void fetches(unsigned c, void *data) {
    uint64_t packed = (uintptr_t)data;
    struct access_cpu *a = access_of(c);
    uint64_t line = packed >> LEFT_BITS;
    size_t left = packed & ((1u << LEFT_BITS) - 1);
    asked[c]++;
    access_line(a, c, MEMORY_FETCH, line, access_time(a, c, left));
    *recent_in(c, line) = memory_key(line);
    access_done(a, c, left);
}

// Pages of code have physical numbers, because QEMU uses translated code at all virtual addresses of a page.
static void turns_page(unsigned c, void *data) {
    uint64_t packed = (uintptr_t)data, number = packed >> LEFT_BITS;
    struct access_cpu *a = access_of(c);
    access_stall(a, memory_walk(access_memory, c, true, number));
    qemu_plugin_u64_set(page, c, number + 1);
    access_done(a, c, packed & ((1u << LEFT_BITS) - 1));
}

void access_fetch_forget(unsigned c) {
    memset(qemu_plugin_scoreboard_find(recent.score, c), 0, access_shape.l1i.sets * sizeof(uint64_t));
    access_fetch_flush(c);
}

void access_fetch_flush(unsigned c) {
    qemu_plugin_u64_set(page, c, 0);
}

static void watch_page(struct qemu_plugin_tb *tb, uint64_t number, size_t instructions) {
    void *data = (void *)(uintptr_t)(number << LEFT_BITS | (instructions - 1));
    if (access_shape.tlb_entries)
        qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, turns_page, QEMU_NO_REGS, QEMU_COND_NE, page, number + 1,
                                                  data);
}

static void watch_line(struct qemu_plugin_tb *tb, uint64_t line, size_t instructions) {
    const struct memory_level *l1i = &access_shape.l1i;
    struct qemu_counter last = {recent.score, line % l1i->sets * sizeof(uint64_t)};
    void *data = (void *)(uintptr_t)(line << LEFT_BITS | (instructions - 1));
    qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, fetches, QEMU_NO_REGS, QEMU_COND_NE, last,
                                              memory_key(line), data);
}

static uint64_t physical(const void *host) {
    static bool found;
    if (!found) {
        struct ram_part parts[MEMORY_RANGES];
        for (size_t i = 0; i < access_shape.ranges; i++)
            parts[i] = (struct ram_part){access_shape.range[i].first, access_shape.range[i].bytes,
                                         access_shape.range[i].node};
        if (!ram_find(parts, access_shape.ranges))
            journal_refuse("QEMU has not mapped the guest's memory as the machine's file says");
        found = true;
    }
    return ram_physical(host);
}

// Code in firmware and in devices is not in the machine's memory. Of an instruction that crosses a page only the
// part in its first page is known.
void access_block(struct qemu_plugin_tb *tb, size_t instructions) {
    if (!access_charges())
        return;
    uint64_t last = ACCESS_NO_LINE, last_page = ACCESS_NO_LINE, count = 0;
    for (size_t i = 0; i < instructions; i++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const void *host = rehearsal_host(qemu_plugin_insn_haddr(insn));
        uint64_t at = host ? physical(host) : RAM_NOWHERE;
        if (at == RAM_NOWHERE)
            continue;
        uint64_t end = at + qemu_plugin_insn_size(insn) - 1, page_end = at | (ACCESS_PAGE - 1);
        uint64_t line = at >> access_memory->line_bits;
        if (at / ACCESS_PAGE != last_page)
            watch_page(tb, last_page = at / ACCESS_PAGE, instructions);
        for (end = end < page_end ? end : page_end; line <= end >> access_memory->line_bits; line++)
            if (line != last) {
                watch_line(tb, line, instructions);
                last = line;
                count++;
            }
    }
    if (count)
        qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD, fetched, count);
}

#endif
