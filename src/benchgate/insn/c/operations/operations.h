// Measures what the guest's program measures of itself: it follows the calls of each thread from entry to exit, by
// their success, and makes histograms of the spans that a workload's `machine:` names (spans.h), of each thread
// between its marks of the work. Which functions, and where threads are, comes from the file of threads_hooks.h.
// The guest sees no change. Only of systems with marks, with a QEMU that lets plugins read memory (9.2).
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "arch.h"
#include "qemu_api.h"

// NULL, or what is wrong. `observed`: the file that says what is where; NULL: nothing is measured.
const char *operations_setup(const char *observed, unsigned vcpus);
void operations_block(uint64_t address); // a block is about to be instrumented, in its vCPU's thread
// `left`: instructions from this one to the end of its block.
void operations_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address,
                            size_t left);
void operations_mark(unsigned kind, unsigned vcpu, uint64_t time);
void operations_shown(unsigned vcpu, uint64_t time); // the guest has read this time from its clock
void operations_report(void);

#endif
