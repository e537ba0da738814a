// QEMU does not instrument the access that it executes alone, except for callbacks after memory accesses. So
// each block notes that it was entered, and in a block of one instruction such a callback asks which block
// that was: itself, or the one that QEMU left.
#include "mmio.h"

#if INSN_API >= 3

#include "clock.h"

#include <stdlib.h>
#include <string.h>

struct block {
    uint64_t start;
    size_t count;
    uint8_t lengths[];
};

static struct qemu_counter entered; // per vCPU: the address of the `struct block` that it entered last

void mmio_setup(void) {
    entered.score = qemu_plugin_scoreboard_new(128);
}

// The number of instructions after the one at `address`; 0 if that is not in the block.
static size_t left_after(const struct block *b, uint64_t address) {
    uint64_t at = b->start;
    for (size_t i = 0; i < b->count; at += b->lengths[i++])
        if (at == address)
            return b->count - i - 1;
    return 0;
}

static void accessed(unsigned vcpu, uint32_t info, uint64_t data, void *address) {
    (void)info, (void)data;
    const struct block *last = (const struct block *)(uintptr_t)qemu_plugin_u64_get(entered, vcpu);
    if (last)
        clock_take_back(vcpu, left_after(last, (uint64_t)(uintptr_t)address));
}

// The notes are never freed, because a block may be left at any time. They are small beside the code that
// QEMU keeps for each block.
void mmio_block(struct qemu_plugin_tb *tb, const uint8_t *lengths, size_t instructions) {
    uint64_t start = qemu_plugin_tb_vaddr(tb);
    struct block *b = malloc(sizeof *b + instructions);
    if (!b)
        return;
    b->start = start;
    b->count = instructions;
    memcpy(b->lengths, lengths, instructions);
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_STORE, entered, (uintptr_t)b);
    if (instructions == 1)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, 0), accessed, QEMU_NO_REGS,
                                         QEMU_READS_AND_WRITES, (void *)(uintptr_t)start);
}

#else

void mmio_setup(void) {}

void mmio_block(struct qemu_plugin_tb *tb, const uint8_t *lengths, size_t instructions) {
    (void)tb, (void)lengths, (void)instructions;
}

#endif
