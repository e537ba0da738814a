// Calls outward: what the clock, the translation of blocks and the marks tell those that record, and ask of the machine's
// model. They know none of them. outer.c knows all, and the order of each call, on which digits depend.
#ifndef OUTER_H
#define OUTER_H

#include "arch.h"
#include "qemu_api.h"
#include "spin.h"

// ---- translation (blocks.c)

struct blocks_tail;
struct spin outer_spin(const struct blocks_tail *tail); // whether a new block closes a loop that only waits
void outer_block(struct qemu_plugin_tb *tb, size_t instructions, struct spin spin);
// `address` is that of the instruction; `left`: instructions from it to the end of its block.
void outer_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address, size_t left);

// ---- the guest

void outer_clock_read(unsigned vcpu, uint64_t time); // it has read this time from its clock
// A mark of this kind (marks.h), with `left` instructions of its block left.
void outer_mark(unsigned kind, unsigned vcpu, uint64_t left, bool is_program, uint64_t time);
// The window of a profile and of call stacks: it lies between marks, or between lines of the console.
void outer_profile(unsigned kind, uint64_t time);
void outer_window(bool opens, uint64_t time); // that of the marks

// ---- the clock, with its lock held

// The vCPU halts, or its halt ends.
void outer_halted(unsigned vcpu, bool halted, uint64_t time);
void outer_halts(unsigned vcpu); // in its own thread
void outer_interrupted(unsigned vcpu, int sender, uint64_t time); // by another vCPU, or -1: a timer or a device
void outer_opens(bool open); // the window opens or closes; its vCPU's turn is not told yet
// The same, at `now`, the time of the vCPU with the mark; no vCPU is later than `latest`.
void outer_opened(bool open, uint64_t now, uint64_t latest);
void outer_places(void); // a line that says how far the guest is has been written

// ---- the machine's model, and an exploration

void outer_turn(unsigned vcpu);          // its turn ends; the lock is not held
uint64_t outer_interrupt(unsigned vcpu); // what an interrupt by another vCPU costs it
bool outer_charges(void);                // there is a model of memory
bool outer_delays(void);                 // there is an exploration
void outer_report(uint64_t latest);      // the model writes its lines of the log

#endif
