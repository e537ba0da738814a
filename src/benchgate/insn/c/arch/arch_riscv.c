// RISC-V, 64 bits. Encodings: The RISC-V Instruction Set Manual, volume I, "RV32/64G Instruction Set
// Listings" and "C Extension".
#include "arch.h"

enum { SP = 2 };
enum { CYCLE = 0xc00, TIME = 0xc01, INSTRET = 0xc02, MCYCLE = 0xb00, MINSTRET = 0xb02 };

static uint32_t code_of(const struct arch_insn *insn) {
    uint32_t low = insn->bytes[0] | (uint32_t)insn->bytes[1] << 8;
    return insn->length == 2 ? low : low | (uint32_t)insn->bytes[2] << 16 | (uint32_t)insn->bytes[3] << 24;
}

static uint32_t field(uint32_t code, unsigned low, unsigned bits) {
    return code >> low & ((UINT32_C(1) << bits) - 1);
}

static int64_t extended(uint32_t value, unsigned bits) {
    return (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
}

// x0 never changes.
static uint32_t reg(uint32_t number) {
    return number ? arch_bit(number) : 0;
}

// The registers x8 to x15, in three bits of a compressed instruction.
static uint32_t popular(uint32_t code, unsigned low) {
    return arch_bit(8 + field(code, low, 3));
}

// ---- kinds and marks

static bool is_csr_read(uint32_t code) {
    return (code & 0x7f) == 0x73 && (field(code, 12, 3) == 2 || field(code, 12, 3) == 3) &&
           field(code, 15, 5) == 0;
}

static bool reads_clock(uint32_t code) {
    uint32_t csr = code >> 20;
    return is_csr_read(code) &&
           (csr == CYCLE || csr == TIME || csr == INSTRET || csr == MCYCLE || csr == MINSTRET);
}

static enum arch_kind kind(const struct arch_insn *insn) {
    uint32_t code = code_of(insn);
    if (code == 0x0100000f)
        return ARCH_PAUSE;
    if (code == 0x00000073) // ecall
        return ARCH_CALLS;
    return reads_clock(code) ? ARCH_READS_CLOCK : ARCH_OTHER;
}

// ret, and c.jr ra.
static bool returns(const struct arch_insn *insn) {
    return code_of(insn) == (insn->length == 2 ? 0x8082 : 0x00008067);
}

// `slti x0, s2, 0x400 + KIND`
static int mark(const struct arch_insn *insn) {
    uint32_t code = code_of(insn);
    return (code & 0xf00fffff) == 0x40092013 ? (int)field(code, 20, 8) : ARCH_NO_MARK;
}

// ---- jumps

static int64_t branch_distance(uint32_t code) {
    return extended(field(code, 31, 1) << 12 | field(code, 7, 1) << 11 | field(code, 25, 6) << 5 |
                        field(code, 8, 4) << 1,
                    13);
}

static int64_t jal_distance(uint32_t code) {
    return extended(field(code, 31, 1) << 20 | field(code, 12, 8) << 12 | field(code, 20, 1) << 11 |
                        field(code, 21, 10) << 1,
                    21);
}

static int64_t short_branch_distance(uint32_t code) {
    return extended(field(code, 12, 1) << 8 | field(code, 5, 2) << 6 | field(code, 2, 1) << 5 |
                        field(code, 10, 2) << 3 | field(code, 3, 2) << 1,
                    9);
}

static int64_t short_jump_distance(uint32_t code) {
    return extended(field(code, 12, 1) << 11 | field(code, 8, 1) << 10 | field(code, 9, 2) << 8 |
                        field(code, 6, 1) << 7 | field(code, 7, 1) << 6 | field(code, 2, 1) << 5 |
                        field(code, 11, 1) << 4 | field(code, 3, 3) << 1,
                    12);
}

static bool jump(const struct arch_insn *insn, bool *conditional, int64_t *by) {
    uint32_t code = code_of(insn), major = field(code, 13, 3);
    bool compressed = (code & 3) == 1;
    *conditional = (code & 0x7f) == 0x63 || (compressed && major >= 6);
    if ((code & 0x7f) == 0x63)
        *by = branch_distance(code);
    else if ((code & 0xfff) == 0x06f) // jal x0
        *by = jal_distance(code);
    else if (*conditional)
        *by = short_branch_distance(code);
    else if (compressed && major == 5)
        *by = short_jump_distance(code);
    else
        return false;
    *by -= (int64_t)insn->length;
    return true;
}

// ---- effects

static struct arch_effect compressed_0(uint32_t code) {
    switch (field(code, 13, 3)) {
    case 0: // c.addi4spn
        return arch_sets(popular(code, 2), reg(SP), false);
    case 2: // c.lw, c.ld
    case 3:
        return arch_sets(popular(code, 2), popular(code, 7), true);
    default:
        return arch_unknown();
    }
}

static struct arch_effect compressed_1(uint32_t code) {
    uint32_t rd = reg(field(code, 7, 5)), low = popular(code, 7);
    switch (field(code, 13, 3)) {
    case 0: // c.addi, c.addiw
    case 1:
        return field(code, 7, 5) == SP ? arch_unknown() : arch_sets(rd, rd, false);
    case 2: // c.li
        return arch_sets(rd, 0, false);
    case 3: // c.lui; with sp it is c.addi16sp
        return field(code, 7, 5) == SP ? arch_unknown() : arch_sets(rd, 0, false);
    case 4: // shifts, c.andi; arithmetic of two registers
        return arch_sets(low, field(code, 10, 2) == 3 ? low | popular(code, 2) : low, false);
    default:
        return arch_unknown();
    }
}

static struct arch_effect compressed_2(uint32_t code) {
    uint32_t rd = reg(field(code, 7, 5)), rs = reg(field(code, 2, 5));
    switch (field(code, 13, 3)) {
    case 0: // c.slli
        return arch_sets(rd, rd, false);
    case 2: // c.lwsp, c.ldsp
    case 3:
        return arch_sets(rd, reg(SP), true);
    case 4: // c.mv, c.add; without a source they are jumps
        return !rs || !rd ? arch_unknown() : arch_sets(rd, field(code, 12, 1) ? rd | rs : rs, false);
    default:
        return arch_unknown();
    }
}

static struct arch_effect atomic(uint32_t code, uint32_t rd, uint32_t rs1, uint32_t rs2) {
    switch (code >> 27) {
    case 0x02: // lr
        return arch_sets(rd, rs1, true);
    case 0x01: // amoswap: while it waits, it stores the value that the lock already holds
        return arch_sets(rd, rs1, true);
    case 0x08: // amoor: while it waits, the bits are already set
        return arch_sets(rd, rs1 | rs2, true);
    case 0x05: // amocas: while it waits, it stores nothing
        return arch_sets(rd, rd | rs1 | rs2, true);
    default:
        return arch_unknown();
    }
}

// A division by x0 gives a constant: Linux waits with it where a CPU may have no `pause`.
static bool divides_by_zero(uint32_t code) {
    return (code & 0xfe00407f) == 0x02004033 && field(code, 20, 5) == 0 && field(code, 12, 3) < 6;
}

static struct arch_effect effect(const struct arch_insn *insn) {
    uint32_t code = code_of(insn);
    uint32_t rd = reg(field(code, 7, 5)), rs1 = reg(field(code, 15, 5)), rs2 = reg(field(code, 20, 5));
    switch (code & 3) {
    case 0:
        return compressed_0(code);
    case 1:
        return compressed_1(code);
    case 2:
        return compressed_2(code);
    default:
        break;
    }
    switch (code & 0x7f) {
    case 0x03: // loads
        return arch_sets(rd, rs1, true);
    case 0x0f: // fences, pause
        return field(code, 12, 3) < 2 ? (struct arch_effect){0} : arch_unknown();
    case 0x13: // arithmetic with an immediate
    case 0x1b:
        return arch_sets(rd, rs1, false);
    case 0x17: // auipc, lui
    case 0x37:
        return arch_sets(rd, 0, false);
    case 0x2f:
        return atomic(code, rd, rs1, rs2);
    case 0x33: // arithmetic
    case 0x3b:
        return arch_sets(rd, divides_by_zero(code) ? 0 : rs1 | rs2, false);
    case 0x73:
        return is_csr_read(code) ? (struct arch_effect){.writes = rd, .clock = reads_clock(code)}
                                 : arch_unknown();
    default:
        return arch_unknown();
    }
}

// ---- for the memory system

static bool is_atomic(const struct arch_insn *insn) {
    uint32_t code = code_of(insn);
    return (code & 0x7f) == 0x2f && code >> 27 != 0x02; // not lr
}

// amoswap to x0: with gcc 12 and 13 each atomic store.
static bool stores(const struct arch_insn *insn) {
    uint32_t code = code_of(insn);
    return (code & 0x7f) == 0x2f && code >> 27 == 0x01 && field(code, 7, 5) == 0;
}

static bool writes_csr(uint32_t code) {
    uint32_t operation = field(code, 12, 3);
    return (code & 0x7f) == 0x73 && operation % 4 != 0 && (operation % 4 == 1 || field(code, 15, 5) != 0);
}

// sfence.vma, sinval.vma, hfence, hinval; writes to satp, vsatp and hgatp. Another CPU's translations are
// changed by an interrupt, after which it executes such an instruction itself.
static enum arch_reach remaps(const struct arch_insn *insn) {
    uint32_t code = code_of(insn), operation = field(code, 12, 3), csr = code >> 20;
    if ((code & 0x7f) != 0x73)
        return ARCH_NOWHERE;
    if (operation == 0 && field(code, 7, 5) == 0)
        switch (code >> 25) {
        case 0x09: // sfence.vma
        case 0x0b: // sinval.vma
        case 0x11: // hfence.vvma, hinval.vvma
        case 0x13:
        case 0x31: // hfence.gvma, hinval.gvma
        case 0x33:
            return ARCH_HERE;
        default:
            return ARCH_NOWHERE;
        }
    return writes_csr(code) && (csr == 0x180 || csr == 0x280 || csr == 0x680) ? ARCH_HERE : ARCH_NOWHERE;
}

// amo*, lr, sc; fence; wfi, sret, mret; writes to sstatus and mstatus, which turn interrupts on and off.
// Interrupts are sent by ecall and by stores to devices.
static bool synchronises(const struct arch_insn *insn) {
    enum { WFI = 0x10500073, SRET = 0x10200073, MRET = 0x30200073, ECALL = 0x00000073 };
    uint32_t code = code_of(insn), csr = code >> 20;
    bool fence = (code & 0x707f) == 0x0f && kind(insn) != ARCH_PAUSE;
    bool named = code == WFI || code == SRET || code == MRET || code == ECALL;
    return (code & 0x7f) == 0x2f || fence || named || (writes_csr(code) && (csr == 0x100 || csr == 0x300));
}

// wfi; writes to satp; ecall, by which a kernel asks the firmware.
static enum arch_act act(const struct arch_insn *insn) {
    enum { WFI = 0x10500073, ECALL = 0x00000073, SATP = 0x180 };
    uint32_t code = code_of(insn);
    if (code == WFI)
        return ARCH_HALTS;
    if (code == ECALL)
        return ARCH_MAY_SEND;
    return writes_csr(code) && code >> 20 == SATP ? ARCH_MAPS : ARCH_NO_ACT;
}

// RISC-V Supervisor Binary Interface Specification, chapters "IPI Extension" and "Legacy Extensions".
static bool sends(uint64_t call) {
    return call == 0x735049 || call == 4;
}

// jal and jalr to ra, and c.jalr.
static bool ends_with_call(const uint8_t *end) {
    uint32_t code = arch_word(end - 4);
    uint32_t last = code >> 16;
    bool is_long = (code & 0xfff) == 0x0ef || (code & 0x7fff) == 0x00e7;
    return is_long || ((last & 0xf07f) == 0x9002 && (last & 0xf80));
}

const struct arch arch_riscv = {
    .target = "riscv64",
    .clock_step = 100, // 10 MHz
    .devices_in_memory = true,
    .kind = kind,
    .mark = mark,
    .jump = jump,
    .effect = effect,
    .atomic = is_atomic,
    .stores = stores,
    .synchronises = synchronises,
    .remaps = remaps,
    .arguments = {"a0", "a1", "a2", "a3"},
    .stack = "sp",
    .link = "ra",
    .ends_with_call = ends_with_call,
    .act = act,
    .returns = returns,
    .call_length = 4,
    .result = "a0",
    .call = "a7",
    .level = "priv",
    .level_bits = 3,
    .sends = sends,
};
