// Instruments each block of guest code when QEMU translates it: what the clock counts, charges and watches.
#ifndef BLOCKS_H
#define BLOCKS_H

#include "arch.h"
#include "spin.h"
#include "qemu_api.h"

void blocks_translated(struct qemu_plugin_tb *tb);
// An instruction of this kind is translated: the clock counts it.
void blocks_count(struct qemu_plugin_insn *insn, enum arch_kind kind);

// The last instructions of a block: all that says whether it closes a loop that only waits.
struct blocks_tail {
    uint64_t begin, end; // of the block
    size_t total, count; // instructions: of the block, and of those here
    uint64_t at[SPIN_MOST];
    struct arch_insn insns[SPIN_MOST];
};
// Whether it closes such a loop with the blocks before it, and remembers it for those behind it. Call it in
// the order in which the guest comes to its blocks for the first time: digits depend on it.
struct spin blocks_spin(const struct blocks_tail *tail);

#endif
