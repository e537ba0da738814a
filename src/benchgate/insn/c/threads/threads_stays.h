// For how long the thread of a vCPU is in the kernel at a stretch: from its program's last instruction, or from the
// switch to it, until its program goes on, the vCPU switches to another thread, or the clock halts it. Of a thread that
// has executed no program's instruction yet only what it spun is told, as if its stay had been no longer. An
// interruption is a stay that the program did not ask for: neither by a call nor by a fault. It is told however short
// it is.
#ifndef THREADS_STAYS_H
#define THREADS_STAYS_H

#include "qemu_api.h"

// `left`: called when a program goes on. `sees_faults`: stays_fault is called; without that no stay is known to be an
// interruption. False: no memory.
bool stays_setup(void (*left)(unsigned vcpu, uint64_t time), bool sees_faults);
// A block is translated, of a program or of the kernel.
void stays_block(struct qemu_plugin_tb *tb, size_t instructions, bool is_program);
// A program's instruction that calls its kernel is translated.
void stays_call(struct qemu_plugin_insn *insn);
void stays_fault(unsigned vcpu); // the kernel handles a fault
// From here on this thread is in the kernel; `is_program`: whether it has executed a program's instruction, which is kept
// there; NULL: the vCPU idles.
void stays_begin(unsigned vcpu, uint64_t time, bool *is_program);
struct stay {
    uint64_t length; // 0: there is none, or it was too short to be told
    uint64_t spun;   // of it: in loops that can do nothing but wait (spin.h)
    uint64_t count;  // of programs' stays on this vCPU, this one included; interruptions are not counted
    bool is_interruption;
};
struct stay stays_end(unsigned vcpu, uint64_t time); // the one that ends now
void stays_resume(unsigned vcpu, uint64_t time); // after a halt, with the thread from before

#endif
