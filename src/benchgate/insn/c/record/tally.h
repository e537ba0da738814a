// How often each vCPU entered each block, for all blocks that QEMU translates: counters in translated code. With
// plugin API 3 only. A user has a tally of its own, which it guards.
#ifndef TALLY_H
#define TALLY_H

#include "qemu_api.h"

#if INSN_API >= 3

#define TALLY_CHUNK 4096 // blocks that share one of QEMU's scoreboards
#define TALLY_CHUNKS 128

struct tally_block {
    uint64_t address, code; // code: tells blocks apart that have an address in common; 0 if nobody asks
    uint32_t instructions;
    int32_t worth; // for its user
};

struct tally {
    struct qemu_plugin_scoreboard *boards[TALLY_CHUNKS];
    struct tally_block *blocks[TALLY_CHUNKS];
    uint32_t *table; // block number + 1, or 0
    size_t count;
};

bool tally_setup(struct tally *t); // false: no memory
// The block's number; a block keeps it when it is translated again. SIZE_MAX when the table is full.
size_t tally_number(struct tally *t, uint64_t address, uint64_t code, uint32_t instructions);
struct tally_block *tally_block(const struct tally *t, size_t number);
void tally_instrument(const struct tally *t, size_t number, struct qemu_plugin_tb *tb);
uint64_t tally_entered(const struct tally *t, size_t number, unsigned vcpu);
void tally_clear(const struct tally *t, size_t number, unsigned vcpu);

#endif
#endif
