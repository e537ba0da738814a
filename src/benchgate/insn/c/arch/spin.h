// Decides from a loop's code whether it can do nothing but wait: for a store by another CPU, for the
// clock, or for an interrupt. Pure.
//
// The locks and delays of many kernels spin without `pause`. A loop only waits if no iteration leaves a
// result for the next one: it stores nothing except the value that a lock already holds, and it does not read
// the old value of a register that it writes. A loop counts as work if this is not certain, and always if it
// is not one straight piece of code.
#ifndef SPIN_H
#define SPIN_H

#include "arch.h"

#define SPIN_MOST 16 // most instructions in a wait loop

// The last contiguous instructions before the address `end`. QEMU ends a block at each `pause` and each read
// of the clock, so a loop may span several blocks.
struct spin_trail {
    uint64_t end;
    size_t count;
    struct arch_insn insns[SPIN_MOST];
    int8_t counted[SPIN_MOST]; // for each that closes a loop which only waits: `counted` of struct spin
};

struct spin {
    enum { SPIN_NOT, SPIN_ON_MEMORY, SPIN_ON_CLOCK, SPIN_ON_NOTHING } on;
    // Of them, those that no jump in the loop's middle counts, which closes another loop; at least 1, because the guest
    // may come here without that jump.
    int counted;
    size_t instructions; // in one iteration
    bool begins_before;  // the last instruction jumps back to before the trail: whether that loop waits is not known
};

void spin_add(struct spin_trail *trail, uint64_t start, const struct arch_insn *insn); // the one at `start`
// Whether the last instruction closes a loop that only waits.
struct spin spin_closed(const struct arch *arch, struct spin_trail *trail);

#endif
