// Follows the threads of the guest from outside: at the first instruction of a few functions of its kernel it reads
// registers and memory, and writes who ran, who waited and who was woken to a file of its own (insn/threads_log.py).
// The guest sees no change. Which functions, and where their threads stand, comes from a file (insn/observe/). Only on
// request, with a QEMU that lets plugins read memory (9.2).
#ifndef THREADS_H
#define THREADS_H

#include "qemu_api.h"

// NULL, or the reason why threads cannot be followed. `observed`: the file with what is read where.
const char *threads_setup(const char *path, const char *observed, unsigned vcpus, bool whole);
void threads_vcpu(unsigned vcpu); // it appeared; in its own thread
// `address` is that of the instruction; `left`: instructions from it to the end of its block.
void threads_instruction(struct qemu_plugin_insn *insn, uint64_t address, size_t left);
// The clock's vCPU halts, or its halt ends. Call with the clock's lock held.
void threads_halted(unsigned vcpu, bool halted, uint64_t time);
void threads_window(bool open, uint64_t time);
void threads_report(uint64_t end);

#endif
