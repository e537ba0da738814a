// Does a loop only wait, for another CPU's memory or for the clock? Pure; x86-64 code in bytes.
//
// Many kernels' locks and delays spin without `pause`. A loop waits if no round leaves anything behind for
// the next one: it stores nothing (what a lock holds already apart), and no register that it changes is one
// that it began with. What is not sure to wait counts as work; so does every loop that is not one straight
// piece of code.
#ifndef SPIN_H
#define SPIN_H

#include <stddef.h>
#include <stdint.h>

#define SPIN_MOST 16    // instructions in such a loop, at most
#define SPIN_LONGEST 15 // bytes of an instruction

struct spin_insn {
    uint8_t bytes[SPIN_LONGEST];
    size_t length;
};

// The instructions before `end`, as far as they lie in a row: QEMU ends a block at each pause and each read
// of the TSC, so that a loop may be of several.
struct spin_trail {
    uint64_t end;
    size_t count;
    struct spin_insn insns[SPIN_MOST];
};

struct spin {
    enum { SPIN_NOT, SPIN_ON_MEMORY, SPIN_ON_CLOCK } on;
    size_t instructions; // in one round
};

// Goes on with an instruction at `start`; says whether it closes a loop that waits.
struct spin spin_follow(struct spin_trail *trail, uint64_t start, const struct spin_insn *insn);

#endif
