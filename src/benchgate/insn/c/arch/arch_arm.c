// AArch64. Encodings: Arm Architecture Reference Manual for A-profile, chapter C4.
#include "arch.h"

static uint32_t code_of(const struct arch_insn *insn) {
    return arch_word(insn->bytes);
}

static uint32_t field(uint32_t code, unsigned low, unsigned bits) {
    return code >> low & ((UINT32_C(1) << bits) - 1);
}

// Register 31 is the zero register or the stack pointer, which no wait loop changes.
static uint32_t reg(uint32_t code, unsigned low) {
    uint32_t number = field(code, low, 5);
    return number == 31 ? 0 : arch_bit(number);
}

// ---- kinds and marks

static bool reads_clock(uint32_t code) {
    switch (code & ~UINT32_C(31)) {
    case 0xd53be020: // cntpct_el0, cntvct_el0
    case 0xd53be040:
    case 0xd53be0a0: // cntpctss_el0, cntvctss_el0
    case 0xd53be0c0:
    case 0xd53b9d00: // pmccntr_el0
        return true;
    default:
        return false;
    }
}

static enum arch_kind kind(const struct arch_insn *insn) {
    uint32_t code = code_of(insn);
    if (code == 0xd503203f || code == 0xd503205f || (code & ~UINT32_C(31)) == 0xd5031000) // yield, wfe, wfet
        return ARCH_PAUSE;
    if ((code & 0xffe0001f) == 0xd4000001) // svc
        return ARCH_CALLS;
    return reads_clock(code) ? ARCH_READS_CLOCK : ARCH_OTHER;
}

// ret by the usual register, with or without authentication.
static bool returns(const struct arch_insn *insn) {
    uint32_t code = code_of(insn);
    return code == 0xd65f03c0 || (code & 0xfffffbff) == 0xd65f0bff;
}

// `movz xzr, #0x4c00 + KIND`
static int mark(const struct arch_insn *insn) {
    uint32_t code = code_of(insn);
    return (code & 0xffffe01f) == 0xd289801f ? (int)field(code, 5, 8) : ARCH_NO_MARK;
}

// ---- jumps

static int64_t distance(uint32_t code, unsigned low, unsigned bits) {
    return (int64_t)((uint64_t)field(code, low, bits) << (64 - bits)) >> (64 - bits);
}

static bool jump(const struct arch_insn *insn, bool *conditional, int64_t *by) {
    uint32_t code = code_of(insn);
    *conditional = true;
    if ((code & 0xfc000000) == 0x14000000) { // b
        *conditional = false;
        *by = distance(code, 0, 26);
    } else if ((code & 0xff000000) == 0x54000000 || (code & 0x7e000000) == 0x34000000) // b.cond, cbz, cbnz
        *by = distance(code, 5, 19);
    else if ((code & 0x7e000000) == 0x36000000) // tbz, tbnz
        *by = distance(code, 5, 14);
    else
        return false;
    *by = 4 * *by - 4;
    return true;
}

// ---- effects; the flags are left out

// In these forms the target 31 is the stack pointer.
static struct arch_effect sets_general(uint32_t code, uint32_t from, bool flags) {
    return !flags && field(code, 0, 5) == 31 ? arch_unknown() : arch_sets(reg(code, 0), from, false);
}

static struct arch_effect with_immediate(uint32_t code) {
    uint32_t rd = reg(code, 0), rn = reg(code, 5), operation = field(code, 29, 2);
    switch (field(code, 23, 3)) {
    case 0: // adr, adrp
    case 1:
        return arch_sets(rd, 0, false);
    case 2: // add, sub
        return sets_general(code, rn, operation & 1);
    case 4: // and, orr, eor
        return sets_general(code, rn, operation == 3);
    case 5: // movn, movz, movk
        return arch_sets(rd, operation == 3 ? rd : 0, false);
    case 6: // sbfm, bfm, ubfm
        return arch_sets(rd, operation == 1 ? rd | rn : rn, false);
    case 7: // extr
        return arch_sets(rd, rn | reg(code, 16), false);
    default:
        return arch_unknown();
    }
}

static struct arch_effect with_registers(uint32_t code) {
    uint32_t rd = reg(code, 0), rn = reg(code, 5), rm = reg(code, 16);
    bool extended = (code & 0x1f200000) == 0x0b200000; // add, sub of an extended register
    if (extended)
        return sets_general(code, rn | rm, code & 0x20000000);
    if (!field(code, 28, 1)) // and, orr, eor; add, sub
        return arch_sets(rd, rn | rm, false);
    switch (field(code, 21, 4)) {
    case 2: // ccmp
        return (struct arch_effect){.reads = rn | (field(code, 11, 1) ? 0 : rm)};
    case 4: // csel and its forms
        return arch_sets(rd, rn | rm, false);
    case 6: // shifts, divisions; of one source: clz, rev
        return arch_sets(rd, field(code, 30, 1) ? rn : rn | rm, false);
    case 0: // adc, sbc; operations on flags
        return arch_unknown();
    default: // madd, msub
        return field(code, 24, 1) ? arch_sets(rd, rn | rm | reg(code, 10), false) : arch_unknown();
    }
}

// Exclusive and ordered accesses, cas.
static struct arch_effect exclusive(uint32_t code) {
    uint32_t rt = reg(code, 0), rn = reg(code, 5), rs = reg(code, 16);
    bool second = field(code, 21, 1), ordered = field(code, 23, 1);
    if (second) // cas: while it waits, it stores nothing
        return ordered ? arch_sets(rs, rs | rt | rn, true) : arch_unknown();
    return field(code, 22, 1) ? arch_sets(rt, rn, true) : arch_unknown();
}

static struct arch_effect atomic(uint32_t code) {
    uint32_t rt = reg(code, 0), rn = reg(code, 5), rs = reg(code, 16);
    switch (field(code, 12, 4)) {
    case 3: // ldset: while it waits, the bits are already set
        return arch_sets(rt, rn | rs, true);
    case 8:  // swp: while it waits, it stores the value that the lock already holds
    case 12: // ldapr
        return arch_sets(rt, rn, true);
    default:
        return arch_unknown();
    }
}

// Loads of one register without a change of the address.
static struct arch_effect memory(uint32_t code) {
    uint32_t rt = reg(code, 0), rn = reg(code, 5);
    bool loads = field(code, 22, 2) != 0;
    if ((code & 0x3f000000) == 0x08000000)
        return exclusive(code);
    if ((code & 0x3f000000) == 0x18000000) // from an address relative to the code
        return arch_sets(rt, 0, true);
    if ((code & 0x3f000000) == 0x29000000 && field(code, 22, 3) == 5) // ldp
        return arch_sets(rt | reg(code, 10), rn, true);
    if ((code & 0x3f200c00) == 0x38200000)
        return atomic(code);
    bool simple = (code & 0x3f000000) == 0x39000000 || (code & 0x3f200c00) == 0x38000000 ||
                  (code & 0x3f200c00) == 0x19000000;
    if (simple && loads)
        return arch_sets(rt, rn, true);
    if ((code & 0x3f200c00) == 0x38200800 && loads)
        return arch_sets(rt, rn | reg(code, 16), true);
    return arch_unknown();
}

static struct arch_effect system(uint32_t code) {
    enum { WFI = 0xd503207f };
    if (code == WFI)
        return arch_unknown();
    if ((code & 0xfffff01f) == 0xd503201f || (code & 0xfffff01f) == 0xd503301f) // hints, barriers
        return (struct arch_effect){0};
    if ((code & ~UINT32_C(31)) == 0xd5031000) // wfet
        return (struct arch_effect){.reads = reg(code, 0)};
    if ((code & 0xfff00000) == 0xd5300000) // mrs
        return (struct arch_effect){.writes = reg(code, 0), .clock = reads_clock(code)};
    return arch_unknown();
}

static struct arch_effect effect(const struct arch_insn *insn) {
    uint32_t code = code_of(insn);
    switch (field(code, 25, 4)) {
    case 8:
    case 9:
        return with_immediate(code);
    case 5:
    case 13:
        return with_registers(code);
    case 4:
    case 6:
    case 12:
    case 14:
        return memory(code);
    case 10:
    case 11:
        return system(code);
    default:
        return arch_unknown();
    }
}

// ---- for the memory system

// Stores of exclusive pairs; cas and casp; ld<op>, swp.
static bool is_atomic(const struct arch_insn *insn) {
    uint32_t code = code_of(insn);
    if ((code & 0x3f000000) == 0x08000000) {
        bool ordered = field(code, 23, 1), load = field(code, 22, 1), second = field(code, 21, 1);
        bool pair = second && field(code, 31, 1); // of exclusive registers
        return ordered ? second : second && !pair ? true : !load;
    }
    return (code & 0x3f200c00) == 0x38200000 && field(code, 12, 4) <= 8;
}

// Exclusive, ordered and atomic accesses; dsb, dmb, isb; wfi, eret; msr to daif, which turns interrupts on and
// off, and to icc_sgi1r_el1, which sends them.
static bool synchronises(const struct arch_insn *insn) {
    enum { WFI = 0xd503207f, ERET = 0xd69f03e0 };
    uint32_t code = code_of(insn), barrier = field(code, 5, 3);
    bool access = (code & 0x3f000000) == 0x08000000 || (code & 0x3f200c00) == 0x38200000;
    bool orders = (code & 0xfffff01f) == 0xd503301f && barrier >= 4 && barrier <= 6;
    bool interrupts = (code & 0xfffff0df) == 0xd50340df || (code & 0xffffffe0) == 0xd518cba0;
    return access || orders || interrupts || code == WFI || code == ERET;
}

// tlbi: a broadcast one changes translations on other CPUs without an interrupt. msr to the registers of CRn 1
// and 2: control, table bases, translation control.
static enum arch_reach remaps(const struct arch_insn *insn) {
    uint32_t code = code_of(insn), crn = field(code, 12, 4), crm = field(code, 8, 4);
    if ((code & 0xfff80000) == 0xd5080000 && (crn == 8 || crn == 9))
        return crm == 6 || crm == 7 ? ARCH_HERE : ARCH_EVERYWHERE;
    if ((code & 0xfff80000) == 0xd5180000 && (crn == 1 || crn == 2))
        return ARCH_HERE;
    return ARCH_NOWHERE;
}

// wfi; msr to ttbr0_el1 and to icc_sgi1r_el1.
static enum arch_act act(const struct arch_insn *insn) {
    enum { WFI = 0xd503207f, TTBR0 = 0xd5182000, SGI1R = 0xd518cba0 };
    uint32_t code = code_of(insn), to = code & ~UINT32_C(31);
    return code == WFI ? ARCH_HALTS : to == TTBR0 ? ARCH_MAPS : to == SGI1R ? ARCH_SENDS : ARCH_NO_ACT;
}

// bl, and blr with or without authentication.
static bool ends_with_call(const uint8_t *end) {
    uint32_t code = arch_word(end - 4);
    return (code & 0xfc000000) == 0x94000000 || (code & 0xfefff000) == 0xd63f0000;
}

// Bit 55 says in which half of the address space it is; a signature is in the bits above the 48th but for that one.
static uint64_t unsigned_pointer(uint64_t pointer) {
    const uint64_t kept = UINT64_C(0xff7f000000000000);
    return pointer >> 55 & 1 ? pointer | kept : pointer & ~kept;
}

const struct arch arch_arm = {
    .target = "aarch64",
    .clock_step = 16, // 62.5 MHz; of newer CPUs 1
    .devices_in_memory = true,
    .kind = kind,
    .mark = mark,
    .jump = jump,
    .effect = effect,
    .atomic = is_atomic,
    .synchronises = synchronises,
    .remaps = remaps,
    .arguments = {"x0", "x1", "x2", "x3"},
    .stack = "sp",
    .link = "x30",
    .ends_with_call = ends_with_call,
    .unsigned_pointer = unsigned_pointer,
    .act = act,
    .returns = returns,
    .call_length = 4,
    .result = "x0",
    .call = "x8",
    .level = "cpsr",
    .level_bits = 0xc,
};
