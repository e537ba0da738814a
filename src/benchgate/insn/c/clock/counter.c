// With API 3 translated code counts and calls back only at the trigger. With API 1 or 2 each block calls
// back.
#include "counter.h"

#include <string.h>

static qemu_exec_callback *on_trigger;

#if INSN_API >= 3

#define APART 128 // bytes per vCPU: no shared cache line, and a power of two is found by a shift

static struct qemu_counter executed, clock_reads, paused, waited, timed, idled, calls, stalled;

void counter_setup(qemu_exec_callback *reached) {
    on_trigger = reached;
    executed.score = qemu_plugin_scoreboard_new(APART);
    clock_reads = (struct qemu_counter){executed.score, sizeof(uint64_t)};
    paused = (struct qemu_counter){executed.score, 2 * sizeof(uint64_t)};
    waited = (struct qemu_counter){executed.score, 3 * sizeof(uint64_t)};
    timed = (struct qemu_counter){executed.score, 4 * sizeof(uint64_t)};
    idled = (struct qemu_counter){executed.score, 5 * sizeof(uint64_t)};
    calls = (struct qemu_counter){executed.score, 6 * sizeof(uint64_t)};
    stalled = (struct qemu_counter){executed.score, 7 * sizeof(uint64_t)};
}

void counter_instrument(struct qemu_plugin_tb *tb, size_t instructions, struct spin spin) {
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD, executed, instructions);
    if (spin.on == SPIN_ON_MEMORY)
        qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD, waited, spin.instructions);
    else if (spin.on == SPIN_ON_CLOCK)
        qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD, timed, 1);
    if (spin.counted)
        qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD, idled,
                                                           (uint64_t)spin.counted);
    qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_trigger, QEMU_NO_REGS, QEMU_COND_GE, executed,
                                              COUNTER_TRIGGER, NULL);
}

uint64_t counter_read(unsigned vcpu) {
    return qemu_plugin_u64_get(executed, vcpu);
}

void counter_write(unsigned vcpu, uint64_t value) {
    qemu_plugin_u64_set(executed, vcpu, value);
}

bool counter_bytes(const struct qemu_plugin_insn *insn, uint8_t *into, size_t length) {
    size_t size = qemu_plugin_insn_size(insn);
    return size <= length && qemu_plugin_insn_data(insn, into, size) == size;
}

void counter_charge_pause(struct qemu_plugin_insn *insn) {
    const uint64_t more = COUNTER_PAUSE - 1;
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_INLINE_ADD, executed, more);
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_INLINE_ADD, paused, more);
}

uint64_t counter_paused(unsigned vcpu) {
    return qemu_plugin_u64_get(paused, vcpu);
}

struct counter_place counter_place(unsigned vcpu) {
    uint8_t *row = qemu_plugin_scoreboard_find(executed.score, vcpu);
    return (struct counter_place){(uint64_t *)(row + executed.offset), (uint64_t *)(row + stalled.offset)};
}

uint64_t counter_stalled(unsigned vcpu) {
    return qemu_plugin_u64_get(stalled, vcpu);
}

uint64_t counter_waited(unsigned vcpu) {
    return qemu_plugin_u64_get(waited, vcpu);
}

uint64_t counter_timed(unsigned vcpu) {
    return qemu_plugin_u64_get(timed, vcpu);
}

uint64_t counter_idled(unsigned vcpu) {
    return qemu_plugin_u64_get(idled, vcpu);
}

void counter_count_clock_read(struct qemu_plugin_insn *insn) {
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_INLINE_ADD, clock_reads, 1);
}

uint64_t counter_clock_reads(unsigned vcpu) {
    return qemu_plugin_u64_get(clock_reads, vcpu);
}

void counter_count_call(struct qemu_plugin_insn *insn) {
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_INLINE_ADD, calls, 1);
}

uint64_t counter_calls(unsigned vcpu) {
    return qemu_plugin_u64_get(calls, vcpu);
}

#else

static struct {
    _Alignas(128) uint64_t executed, paused, waited, timed, idled, clock_reads, calls;
} counters[LOCKSTEP_MAX];

void counter_setup(qemu_exec_callback *reached) {
    on_trigger = reached;
}

static void entered(unsigned vcpu, void *instructions) {
    counters[vcpu].executed += (uintptr_t)instructions;
    if (counters[vcpu].executed >= COUNTER_TRIGGER)
        on_trigger(vcpu, NULL);
}

// Only the last block of a wait loop is counted by this.
static void entered_wait(unsigned vcpu, void *instructions) {
    counters[vcpu].idled += (uintptr_t)instructions;
    entered(vcpu, instructions);
}

static void entered_memory_wait(unsigned vcpu, void *instructions) {
    counters[vcpu].waited += (uintptr_t)instructions;
    entered_wait(vcpu, instructions);
}

static void entered_clock_wait(unsigned vcpu, void *instructions) {
    counters[vcpu].timed++;
    entered_wait(vcpu, instructions);
}

void counter_instrument(struct qemu_plugin_tb *tb, size_t instructions, struct spin spin) {
    qemu_exec_callback *call = spin.on == SPIN_ON_MEMORY  ? entered_memory_wait
                               : spin.on == SPIN_ON_CLOCK ? entered_clock_wait
                               : spin.on                  ? entered_wait
                                                          : entered;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, call, QEMU_NO_REGS, (void *)(uintptr_t)instructions);
}

uint64_t counter_read(unsigned vcpu) {
    return counters[vcpu].executed;
}

void counter_write(unsigned vcpu, uint64_t value) {
    counters[vcpu].executed = value;
}

bool counter_bytes(const struct qemu_plugin_insn *insn, uint8_t *into, size_t length) {
    size_t size = qemu_plugin_insn_size(insn);
    if (size > length)
        return false;
    memcpy(into, qemu_plugin_insn_data(insn), size);
    return true;
}

static void pausing(unsigned vcpu, void *unused) {
    (void)unused;
    counters[vcpu].executed += COUNTER_PAUSE - 1;
    counters[vcpu].paused += COUNTER_PAUSE - 1;
}

void counter_charge_pause(struct qemu_plugin_insn *insn) {
    qemu_plugin_register_vcpu_insn_exec_cb(insn, pausing, QEMU_NO_REGS, NULL);
}

uint64_t counter_paused(unsigned vcpu) {
    return counters[vcpu].paused;
}

uint64_t counter_stalled(unsigned vcpu) {
    (void)vcpu;
    return 0;
}

uint64_t counter_waited(unsigned vcpu) {
    return counters[vcpu].waited;
}

uint64_t counter_timed(unsigned vcpu) {
    return counters[vcpu].timed;
}

uint64_t counter_idled(unsigned vcpu) {
    return counters[vcpu].idled;
}

static void reading_clock(unsigned vcpu, void *unused) {
    (void)unused;
    counters[vcpu].clock_reads++;
}

void counter_count_clock_read(struct qemu_plugin_insn *insn) {
    qemu_plugin_register_vcpu_insn_exec_cb(insn, reading_clock, QEMU_NO_REGS, NULL);
}

uint64_t counter_clock_reads(unsigned vcpu) {
    return counters[vcpu].clock_reads;
}

static void calling(unsigned vcpu, void *unused) {
    (void)unused;
    counters[vcpu].calls++;
}

void counter_count_call(struct qemu_plugin_insn *insn) {
    qemu_plugin_register_vcpu_insn_exec_cb(insn, calling, QEMU_NO_REGS, NULL);
}

uint64_t counter_calls(unsigned vcpu) {
    return counters[vcpu].calls;
}

#endif
