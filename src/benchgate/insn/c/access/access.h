// Shows the guest's accesses to memory to the memory system of its machine (memory.h), and charges each vCPU what
// they cost it. Plugin API 3.
//
// Charged time advances the vCPU's counter as instructions do, and is counted apart (counter_stalled). It is as long
// on a vCPU whose instructions take more than 1 ns. Devices, page walks, and what QEMU's helpers read and write without
// telling plugins are not seen.
#ifndef ACCESS_H
#define ACCESS_H

#include "arch.h"
#include "qemu_api.h"

// WATCH counts accesses in the wrong order, which shorten the quantum. STRICT also allows none in the window.
// UNSAID does what the machine's file says, and nothing without a machine.
enum access_order { ACCESS_UNSAID, ACCESS_WATCH, ACCESS_STRICT };

struct access_options {
    const char *machine; // the shape file, or NULL: the ideal machine, on which an access costs nothing
    enum access_order order;
    bool filter; // keeps translations of addresses; without it each is looked up, for tests
    const char *sharing; // the file for the lines that move (sharing.h), or NULL
    bool whole;  // the guest has no marks, so the run is the window
    const char *caches; // the file that gets the state of the memory system at a snapshot, or NULL
};

// Gives NULL, or why it failed. `strict` tells whether the order is strict.
const char *access_setup(const struct access_options *options, unsigned vcpus, bool *strict);
// The guest begins where a snapshot was taken: the same file has the state of its memory system. Gives as above.
const char *access_restore(const char *caches);
const char *access_name(void); // of the machine with a memory system; NULL: there is none
bool access_charges(void);     // there is one

// Call these at translation: for a block, and for each of its instructions, with `left` after it.
void access_block(struct qemu_plugin_tb *tb, size_t instructions);
void access_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, size_t left);

void access_pause(void);                  // every vCPU is halted, and a snapshot is taken
void access_turn(unsigned vcpu);          // the vCPU's turn ends
uint64_t access_interrupt(unsigned vcpu); // what an interrupt by another vCPU costs it
// The window opens or closes at `now`, the time of the vCPU with the mark; no vCPU is later than `latest`.
void access_window(bool open, uint64_t now, uint64_t latest);
void access_report(uint64_t now); // writes the lines of the log, at exit

#endif
