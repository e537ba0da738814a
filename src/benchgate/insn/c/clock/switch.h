// Changes the context that a thread of the host runs: its stack, the registers that a call keeps, the
// control words of its floating point, and the base of its thread-local storage. Whatever libc or QEMU keep
// for a thread moves with that base.
#ifndef SWITCH_H
#define SWITCH_H

#include <stdbool.h>
#include <stdint.h>

enum switch_way {
    SWITCH_NONE,   // this host cannot do it
    SWITCH_FSBASE, // the instruction wrfsbase
    SWITCH_PRCTL,  // the system call arch_prctl
};

// A context that does not run. The assembly knows where each field is.
struct switch_context {
    void *stack, *frame, *next; // the stack pointer, the frame pointer, the next instruction
    uint32_t mxcsr, x87;
    uintptr_t base; // of its thread-local storage
    void *argument; // of a function that begins
};

bool switch_works(enum switch_way way); // tried in a process of its own
uintptr_t switch_base(void);            // of the thread-local storage that is in use
// Saves the running context in *from, but for its base, which stays what it is, and goes on with *to. It
// returns when another call goes on with *from, in whatever thread.
void switch_to(enum switch_way way, struct switch_context *from, const struct switch_context *to);
// A context that begins `function` on a stack, with the thread-local storage that is in use. The function
// must not return.
struct switch_context switch_new(void *stack, uint64_t size, void (*function)(void *), void *argument);
// The system call itself: libc's would write to errno, which is in the thread-local storage.
long switch_futex(_Atomic uint32_t *word, int operation, uint32_t value);

#endif
