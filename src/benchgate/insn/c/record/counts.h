// Counts what programs and their kernel do that a benchmark claims of itself: system calls, atomic
// instructions, changes of the address space, halts, and whatever functions a system's `observe:` names
// (threads_hooks.h). Only translated code that does such a thing becomes longer. With QEMU 9.1 or newer only; an
// older one has no such lines in its log.
#ifndef COUNTS_H
#define COUNTS_H

#include "arch.h"
#include "qemu_api.h"

// NULL, or what is wrong. `observed`: the file that says which functions. `lengths`: of system calls that move
// bytes, the number and the argument that says how many: `0:2:1:2`. Both may be NULL.
const char *counts_setup(const char *observed, const char *lengths, unsigned vcpus);
void counts_vcpu(unsigned vcpu); // it appeared; in its own thread
// A block of so many instructions is about to be instrumented, in its vCPU's thread. `waiting`: it closes a loop of
// so many that only waits (spin.h), or 0.
void counts_block(struct qemu_plugin_tb *tb, size_t instructions, int waiting);
void counts_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address);
uint64_t counts_products(unsigned vcpu); // multiplications of programs so far; 0 if they are not counted
bool counts_of_program(void); // whether that block is a program's, and not the kernel's
// A mark: `left` instructions of its block are left.
void counts_mark(unsigned kind, unsigned vcpu, uint64_t left, bool is_program, uint64_t time);
// Writes what changed since the last line, in at most so many bytes; how many.
size_t counts_line(size_t most);
void counts_report(uint64_t time); // at the end, which is at that time

#endif
