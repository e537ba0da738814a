// QEMU's block of translated code and its x86 CPU as in the sources of QEMU 10.0, and the proof that those of
// this QEMU are laid out so. Nothing is written into either before that.
//
// Each block that a fork translates is compared with what the plugin interface and QEMU's translator say of
// it, and the jumps by which QEMU links blocks later with the lists that it keeps of them. All forks of a
// template collect what was seen; one that is otherwise is enough to end it.
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// For tests: eight bytes that QEMU does not have, before one of the fields.
#ifndef LAYOUT_WRONG
#define LAYOUT_WRONG 0
#endif
#define LAYOUT_BEFORE(number) uint8_t wrong##number[LAYOUT_WRONG == number ? 8 : 0];

#define LAYOUT_PAGE 4096u
#define LAYOUT_NO_JUMP 0xffff
#define LAYOUT_NOWHERE UINT64_MAX
#define LAYOUT_IN_EFLAGS 0x73100u // what of a block's state is kept there, and the rest in hflags: RF, VM, AC, IOPL, TF

struct env {
    uint64_t registers[16];
    LAYOUT_BEFORE(1)
    uint64_t pc;
    LAYOUT_BEFORE(2)
    uint64_t eflags, condition[3];
    uint32_t condition_kind, direction;
    LAYOUT_BEFORE(3)
    uint32_t hflags;
};

struct block {
    uint64_t pc; // not set if code is translated for any address
    LAYOUT_BEFORE(4)
    uint64_t base;
    uint32_t state, flags;
    uint16_t size, instructions;
    LAYOUT_BEFORE(5)
    const void *code;
    size_t code_size;
    LAYOUT_BEFORE(6)
    uintptr_t next_in_page[2];
    uint64_t page[2];
    LAYOUT_BEFORE(7)
    uint32_t lock;
    uint16_t jump[2], jump_code[2]; // LAYOUT_NO_JUMP: there is none
    LAYOUT_BEFORE(8)
    uintptr_t jump_to[2];
    LAYOUT_BEFORE(9)
    uintptr_t jumps_here;
    LAYOUT_BEFORE(10)
    uintptr_t next_jump[2];
    LAYOUT_BEFORE(11)
    uintptr_t jumps[2];
};

// In memory that all forks of a template share.
struct layout_proof {
    _Atomic unsigned seen;
};

// Of a block that was just translated: what was asked for, where it is in QEMU's numbers of the guest's
// memory, and its size as the plugin interface has it.
struct layout_told {
    uint64_t pc, base, at;
    uint32_t state, flags;
    size_t size, instructions;
};

bool layout_is_proven(const struct layout_proof *proof);
// In the vCPU's thread, of each such block. False: it is not as told, and nothing is proven ever after.
bool layout_look(struct layout_proof *proof, const struct block *block, const struct layout_told *told);
void layout_forget(void); // the blocks that were looked at are gone
// Whether the CPU is at this place and in this state.
bool layout_env_is(const struct env *env, uint64_t pc, uint32_t state);

#endif
