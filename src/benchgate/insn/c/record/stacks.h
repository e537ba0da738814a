// Attributes the window's instructions to call stacks: a shadow stack follows the guest's calls and returns.
// It works only on request, with plugin API 3, and where calls push their return address (x86-64).
//
// Stacks are told apart by where they lie: kernel stacks (in the upper half of the address space) by their 16
// KiB, and the stack of user code by the kernel stack of its thread. So a stack follows its thread from CPU
// to CPU.
#ifndef STACKS_H
#define STACKS_H

#include "arch.h"
#include "qemu_api.h"

const char *stacks_setup(const char *path, unsigned vcpus); // NULL, or the reason why it cannot be made
void stacks_block(struct qemu_plugin_tb *tb, size_t instructions);
// `address` is that of the instruction.
void stacks_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address);
// Counting begins at the first begin mark. Each end mark that closes the window rewrites the file.
void stacks_mark(unsigned kind);

#endif
