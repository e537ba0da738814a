// Counts executed instructions per vCPU, and calls back when a vCPU's counter reaches COUNTER_TRIGGER. To let
// a vCPU run n more instructions, set its counter to COUNTER_TRIGGER - n.
#ifndef COUNTER_H
#define COUNTER_H

#include "lockstep.h"
#include "qemu_api.h"
#include "spin.h"

#define COUNTER_TRIGGER (UINT64_C(1) << 40)

void counter_setup(qemu_exec_callback *reached);
// Call for each block when it is translated. A block counts as a whole when it is entered.
void counter_instrument(struct qemu_plugin_tb *tb, size_t instructions, struct spin spin);
uint64_t counter_read(unsigned vcpu);
void counter_write(unsigned vcpu, uint64_t value);
// Copies the bytes of an instruction of at most `length` bytes; false if it is longer.
bool counter_bytes(const struct qemu_plugin_insn *insn, uint8_t *into, size_t length);

// A `pause` counts as COUNTER_PAUSE instructions. It takes about that many ns on current CPUs (140 cycles,
// Intel's optimization manual). QEMU leaves translated code at each `pause`, so without this charge a guest
// that spins with `pause` would be by far the slowest to emulate.
#define COUNTER_PAUSE 50
void counter_charge_pause(struct qemu_plugin_insn *insn);
uint64_t counter_paused(unsigned vcpu); // how much of counter_read was charged for `pause`

// The places of two counters: of all instructions, with what the vCPU waits for memory (clock_units), and of that
// time. They are known with API 3, when every vCPU has appeared.
struct counter_place {
    uint64_t *counted, *stalled;
};
struct counter_place counter_place(unsigned vcpu);
uint64_t counter_stalled(unsigned vcpu); // the ns of such time

uint64_t counter_waited(unsigned vcpu); // instructions in loops that wait for memory
uint64_t counter_timed(unsigned vcpu);  // iterations of loops that wait for the clock
uint64_t counter_idled(unsigned vcpu);  // instructions in loops that only wait, whatever for

// Counts executions of a guest instruction that enters the kernel: system calls.
void counter_count_call(struct qemu_plugin_insn *insn);
uint64_t counter_calls(unsigned vcpu);

// Counts executions of a guest instruction that reads the clock.
void counter_count_clock_read(struct qemu_plugin_insn *insn);
uint64_t counter_clock_reads(unsigned vcpu);

#endif
