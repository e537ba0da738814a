#include "threads_stays.h"

#if INSN_API >= 3

#include "clock.h"
#include "counter.h"

#define SHORTEST 10000 // ns
#define LEAST_SPUN 500 // ns: with more of it a shorter stay is told as well
#define APART 128      // bytes per vCPU: no shared cache line

static struct qemu_counter is_inside; // 1: the vCPU executes the kernel, and that was seen
static struct qemu_counter has_called; // 1: the program has called its kernel
static bool tells_interruptions;
static void (*on_leave)(unsigned vcpu, uint64_t time);
static struct {
    uint64_t since, waited, count;
    bool *is_program;
    bool is_asked; // or was not seen to begin
} on[LOCKSTEP_MAX];

bool stays_setup(void (*left)(unsigned vcpu, uint64_t time), bool sees_faults) {
    on_leave = left;
    tells_interruptions = sees_faults;
    is_inside.score = has_called.score = qemu_plugin_scoreboard_new(APART);
    has_called.offset = sizeof(uint64_t);
    return is_inside.score;
}

// In loops that can do nothing but wait, so far.
static uint64_t waited(unsigned vcpu) {
    return counter_paused(vcpu) + counter_idled(vcpu) + clock_skipped(vcpu);
}

static void begin(unsigned vcpu, uint64_t time, bool is_asked) {
    on[vcpu].since = time;
    on[vcpu].waited = waited(vcpu);
    on[vcpu].is_asked = is_asked;
}

static void enters(unsigned vcpu, void *instructions) {
    qemu_plugin_u64_set(is_inside, vcpu, 1);
    bool is_asked = !tells_interruptions || qemu_plugin_u64_get(has_called, vcpu);
    begin(vcpu, clock_before(vcpu, (uintptr_t)instructions), is_asked);
    qemu_plugin_u64_set(has_called, vcpu, 0);
}

static void leaves(unsigned vcpu, void *instructions) {
    qemu_plugin_u64_set(is_inside, vcpu, 0);
    if (on[vcpu].is_program)
        *on[vcpu].is_program = true;
    on_leave(vcpu, clock_before(vcpu, (uintptr_t)instructions));
}

// Both call back once for each stay: at its first block, and at the program's next one.
void stays_block(struct qemu_plugin_tb *tb, size_t instructions, bool is_program) {
    if (!is_inside.score)
        return;
    qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, is_program ? leaves : enters, QEMU_NO_REGS,
                                              is_program ? QEMU_COND_NE : QEMU_COND_EQ, is_inside, 0,
                                              (void *)instructions);
}

void stays_call(struct qemu_plugin_insn *insn) {
    if (has_called.score)
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_INLINE_STORE, has_called, 1);
}

void stays_fault(unsigned vcpu) {
    on[vcpu].is_asked = true;
}

void stays_begin(unsigned vcpu, uint64_t time, bool *is_program) {
    on[vcpu].is_program = is_program;
    begin(vcpu, time, true);
}

struct stay stays_end(unsigned vcpu, uint64_t time) {
    struct stay stay = {.is_interruption = !on[vcpu].is_asked};
    if (!on[vcpu].is_program || time <= on[vcpu].since)
        return stay;
    uint64_t length = time - on[vcpu].since, spun = waited(vcpu) - on[vcpu].waited;
    stay.spun = spun < length ? spun : length;
    bool is_program = *on[vcpu].is_program;
    stay.count = on[vcpu].count += is_program && !stay.is_interruption;
    if (is_program && (stay.is_interruption || length >= SHORTEST))
        stay.length = length;
    else if (stay.spun >= LEAST_SPUN)
        stay.length = is_program ? length : stay.spun;
    return stay;
}

void stays_resume(unsigned vcpu, uint64_t time) {
    begin(vcpu, time, true);
}

#else

void stays_block(struct qemu_plugin_tb *tb, size_t instructions, bool is_program) {
    (void)tb, (void)instructions, (void)is_program;
}

void stays_call(struct qemu_plugin_insn *insn) {
    (void)insn;
}

#endif
