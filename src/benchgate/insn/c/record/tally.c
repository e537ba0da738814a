#include "tally.h"

#if INSN_API >= 3

#include <stdlib.h>

#define TABLE (2 * TALLY_CHUNK * TALLY_CHUNKS) // slots of the hash table, a power of two

bool tally_setup(struct tally *t) {
    t->table = calloc(TABLE, sizeof *t->table);
    return t->table != NULL;
}

static bool add_chunk(struct tally *t, size_t chunk) {
    if (chunk >= TALLY_CHUNKS)
        return false;
    t->blocks[chunk] = calloc(TALLY_CHUNK, sizeof *t->blocks[chunk]);
    t->boards[chunk] = t->blocks[chunk] ? qemu_plugin_scoreboard_new(TALLY_CHUNK * sizeof(uint64_t)) : NULL;
    return t->boards[chunk] != NULL;
}

struct tally_block *tally_block(const struct tally *t, size_t number) {
    return &t->blocks[number / TALLY_CHUNK][number % TALLY_CHUNK];
}

size_t tally_number(struct tally *t, uint64_t address, uint64_t code, uint32_t instructions) {
    size_t slot = (size_t)(((address ^ code) * 0x9e3779b97f4a7c15u) >> 20) % TABLE;
    for (; t->table[slot]; slot = (slot + 1) % TABLE) {
        const struct tally_block *b = tally_block(t, t->table[slot] - 1);
        if (b->address == address && b->code == code && b->instructions == instructions)
            return t->table[slot] - 1;
    }
    if (t->count % TALLY_CHUNK == 0 && !add_chunk(t, t->count / TALLY_CHUNK))
        return SIZE_MAX;
    size_t n = t->count++;
    *tally_block(t, n) = (struct tally_block){address, code, instructions, 0};
    t->table[slot] = (uint32_t)n + 1;
    return n;
}

static struct qemu_counter counter_of(const struct tally *t, size_t number) {
    return (struct qemu_counter){t->boards[number / TALLY_CHUNK], number % TALLY_CHUNK * sizeof(uint64_t)};
}

void tally_instrument(const struct tally *t, size_t number, struct qemu_plugin_tb *tb) {
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD, counter_of(t, number), 1);
}

uint64_t tally_entered(const struct tally *t, size_t number, unsigned vcpu) {
    return qemu_plugin_u64_get(counter_of(t, number), vcpu);
}

void tally_clear(const struct tally *t, size_t number, unsigned vcpu) {
    qemu_plugin_u64_set(counter_of(t, number), vcpu, 0);
}

#endif
