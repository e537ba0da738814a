// The facts about a guest's instruction set that the clock needs: one table for each, in arch_NAME.c. Nothing
// else in the clock names an architecture. Pure.
#ifndef ARCH_H
#define ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARCH_LONGEST 15 // most bytes in an instruction
#define ARCH_BEFORE 8   // bytes that ends_with_call may look at

struct arch_insn {
    uint8_t bytes[ARCH_LONGEST];
    size_t length;
};

enum arch_kind {
    ARCH_OTHER,
    ARCH_PAUSE,       // waits for a moment, in a loop that waits for another CPU
    ARCH_READS_CLOCK, // of the CPU, not of a device
    ARCH_CALLS,       // enters the guest's kernel: a system call
};

// The way in which an instruction enters or leaves a function through the stack.
enum arch_flow { ARCH_STRAIGHT, ARCH_CALLS_NEAR, ARCH_CALLS_FAR, ARCH_RETURNS };

// The registers that an instruction reads and writes, for the few kinds that occur in wait loops.
struct arch_effect {
    uint32_t reads, writes; // registers, one bit each; without the flags and registers that never change
    bool loads, clock, unknown;
};

// The CPUs on which an instruction may change the translation of addresses.
enum arch_reach { ARCH_NOWHERE, ARCH_HERE, ARCH_EVERYWHERE };

// What a kernel does by one instruction, of the things that counts.h counts.
enum arch_act {
    ARCH_NO_ACT,
    ARCH_HALTS,   // waits for an interrupt
    ARCH_MAPS,    // writes the register with the base of the page tables of programs
    ARCH_SENDS,   // an interrupt to another CPU
    ARCH_MAY_SEND // one, or something else, by the number of the call: sends
};

enum { ARCH_NO_MARK = -1 };

struct arch {
    const char *target; // QEMU's name for it
    // QEMU reads the host's TSC when the guest reads its clock. Else it calls clock_gettime.
    bool clock_is_host_tsc;
    // How many ns the clock that programs read stands still between two of its ticks, at most.
    uint64_t clock_step;
    bool devices_in_memory; // all of them: there are no instructions for input and output
    enum arch_kind (*kind)(const struct arch_insn *insn);
    // The kind of the mark (marks.h), or ARCH_NO_MARK.
    int (*mark)(const struct arch_insn *insn);
    // The distance of a jump from its end. False for any other instruction, calls included.
    bool (*jump)(const struct arch_insn *insn, bool *conditional, int64_t *by);
    struct arch_effect (*effect)(const struct arch_insn *insn);
    // Reads and writes memory with no other CPU's access in between. Of two instructions that do so together, as
    // lr and sc, the second one.
    bool (*atomic)(const struct arch_insn *insn);
    // Of those, one that gives the program nothing: older compilers store so. NULL: there is none.
    bool (*stores)(const struct arch_insn *insn);
    bool (*multiplies)(const struct arch_insn *insn); // two numbers of 64 bits
    bool (*divides)(const struct arch_insn *insn);    // whole numbers; or gives the remainder
    // Kernels use it to agree with other CPUs: atomic, orders memory, waits for an interrupt or decides whether any
    // is taken, sends one.
    bool (*synchronises)(const struct arch_insn *insn);
    enum arch_reach (*remaps)(const struct arch_insn *insn);
    // NULL if calls leave no return address in memory. A near call jumps `by` bytes from its end.
    enum arch_flow (*flow)(const struct arch_insn *insn, int64_t *by);
    // The names of the registers with a function's first arguments, of the stack pointer, and of the one with the
    // return address (NULL: calls push it).
    const char *arguments[4], *stack, *link;
    bool (*ends_with_call)(const uint8_t *end); // the instruction before `end` calls a function
    uint64_t (*unsigned_pointer)(uint64_t pointer); // without the signature that it may have; NULL: it has none
    enum arch_act (*act)(const struct arch_insn *insn);
    bool (*returns)(const struct arch_insn *insn); // from a function
    size_t call_length; // of the instruction with which a 64-bit program enters its kernel
    const char *result; // the register with what a system call or a function gives
    // The registers with a system call's number, and with the CPU's privilege: in a user program those bits of
    // it have that value.
    const char *call, *level;
    uint64_t level_bits, level_user;
    bool (*sends)(uint64_t call); // the firmware's call with this number sends an interrupt to other CPUs
};

extern const struct arch arch_x86, arch_riscv, arch_arm;
extern const struct arch *arch_guest; // the guest's; it is set before the first translation

static inline const struct arch *arch_of(const char *target) {
    static const struct arch *const all[] = {&arch_x86, &arch_riscv, &arch_arm};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i]->target, target) == 0)
            return all[i];
    return NULL;
}

// Four bytes in little-endian order.
static inline uint32_t arch_word(const uint8_t *b) {
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint32_t arch_bit(unsigned number) {
    return UINT32_C(1) << number;
}

static inline struct arch_effect arch_unknown(void) {
    return (struct arch_effect){.unknown = true};
}

// Writes `to`, computed from `from`.
static inline struct arch_effect arch_sets(uint32_t to, uint32_t from, bool loads) {
    return (struct arch_effect){.reads = from, .writes = to, .loads = loads};
}

#endif
