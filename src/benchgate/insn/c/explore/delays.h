// Stalls vCPUs where an exploration says so (explore.h). Plugin API 3.
//
// Without an exploration nothing is instrumented and nothing changes.
#ifndef DELAYS_H
#define DELAYS_H

#include "arch.h"
#include "qemu_api.h"

// Reads the exploration's file; gives NULL, or why it failed. `whole` means that the run is the window.
const char *delays_setup(const char *path, unsigned vcpus, bool whole);
bool delays_on(void);
// In a fork, before the machine begins: reads its own file. Gives the reason why it cannot.
const char *delays_again(void);
// In a fork of a machine that stands at a moment, which is `time` on the vCPU that is ahead of all: the same.
const char *delays_from(uint64_t time);
void delays_header(void); // these two write lines of the log
void delays_report(void);

void delays_appear(unsigned vcpu); // in its own thread, before it executes anything

// Call these at translation. `left` is how many instructions the block has from this one on.
void delays_block(struct qemu_plugin_tb *tb, size_t instructions);
void delays_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, size_t left, uint64_t at);

// Call these with the clock's lock held.
void delays_window(bool open);
void delays_halts(unsigned vcpu); // in its own thread
void delays_interrupted(unsigned vcpu, int sender, uint64_t now); // sender -1: a timer or a device
void delays_places(void); // writes where each vCPU is, if it is elsewhere than when it was last written

#endif
