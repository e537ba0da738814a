// x86-64. Encodings: Intel SDM volume 2, appendix A.
#include "arch.h"

enum { RAX, RCX, RDX };

struct operands {
    uint32_t reg, rm, address; // registers, one bit each; rm is 0 for a memory operand
    unsigned digit;            // the opcode extension
    bool memory;
};

static struct operands operands(const uint8_t *modrm, unsigned rex) {
    unsigned mod = modrm[0] >> 6, digit = modrm[0] >> 3 & 7, low = modrm[0] & 7;
    struct operands o = {.reg = arch_bit(digit | (rex & 4) << 1), .digit = digit, .memory = mod != 3};
    if (!o.memory)
        o.rm = arch_bit(low | (rex & 1) << 3);
    else if (low == 4) // SIB; that index 4 means "no index" does not matter here
        o.address =
            arch_bit((modrm[1] & 7) | (rex & 1) << 3) | arch_bit((modrm[1] >> 3 & 7) | (rex & 2) << 2);
    else if (mod != 0 || low != 5)
        o.address = arch_bit(low | (rex & 1) << 3);
    return o;
}

static struct arch_effect looks(const struct operands *o, uint32_t more) {
    return (struct arch_effect){.reads = o->address | o->rm | more, .loads = o->memory};
}

// Writes its operand, computed from itself and `more`. A store to memory is unknown, so the loop is work.
static struct arch_effect changes(const struct operands *o, uint32_t more) {
    return o->memory ? arch_unknown() : arch_sets(o->rm, o->rm | more, false);
}

// add, or, and, sub, xor, cmp: the upper five bits are the operation, the lower three the operands.
static struct arch_effect arithmetic(uint8_t opcode, const struct operands *o) {
    unsigned operation = opcode >> 3, form = opcode & 7;
    if (operation == 2 || operation == 3) // adc, sbb
        return arch_unknown();
    if (operation == 7)
        return looks(o, o->reg);
    if (operation == 6 && o->reg == o->rm)
        return arch_sets(o->reg, 0, false);
    if (form < 2)
        return changes(o, o->reg);
    return arch_sets(o->reg, o->reg | o->rm | o->address, o->memory);
}

static struct arch_effect one_byte(uint8_t opcode, const struct operands *o) {
    if (opcode < 0x40 && (opcode & 7) < 4)
        return arithmetic(opcode, o);
    switch (opcode) {
    case 0x80: // arithmetic with an immediate
    case 0x81:
    case 0x83:
        return o->digit == 7 ? looks(o, 0) : o->digit == 2 || o->digit == 3 ? arch_unknown() : changes(o, 0);
    case 0xc0: // shifts by an immediate
    case 0xc1:
    case 0xd0:
    case 0xd1:
        return o->digit >= 4 ? changes(o, 0) : arch_unknown();
    case 0x84: // test
    case 0x85:
        return looks(o, o->reg);
    case 0xf6: // test with an immediate
    case 0xf7:
        return o->digit == 0 ? looks(o, 0) : arch_unknown();
    case 0x86: // xchg with memory: while it waits, it stores the value that the lock already holds
    case 0x87:
        return o->memory ? arch_sets(o->reg, o->address, true) : arch_unknown();
    case 0x88: // mov
    case 0x89:
        return o->memory ? arch_unknown() : arch_sets(o->rm, o->reg, false);
    case 0x63: // movsxd
    case 0x8a: // mov
    case 0x8b:
        return arch_sets(o->reg, o->rm | o->address, o->memory);
    case 0x8d: // lea
        return arch_sets(o->reg, o->address, false);
    case 0xc6: // mov of an immediate
    case 0xc7:
        return o->memory ? arch_unknown() : arch_sets(o->rm, 0, false);
    default:
        return arch_unknown();
    }
}

static struct arch_effect two_bytes(const uint8_t *at, const struct operands *o) {
    const struct arch_effect clock = {.writes = arch_bit(RAX) | arch_bit(RDX), .clock = true};
    const struct arch_effect clock_and_cpu = {.writes = arch_bit(RAX) | arch_bit(RCX) | arch_bit(RDX),
                                              .clock = true};
    switch (at[0]) {
    case 0x01:
        return at[1] == 0xf9 ? clock_and_cpu : arch_unknown(); // rdtscp
    case 0x31:                                                 // rdtsc
        return clock;
    case 0x1f: // a long nop
        return (struct arch_effect){0};
    case 0xae: // fences
        return !o->memory && o->digit >= 5 ? (struct arch_effect){0} : arch_unknown();
    case 0xa3: // bt
        return looks(o, o->reg);
    case 0xab: // bts: while it waits, the bit is already set
        return o->memory ? looks(o, o->reg) : arch_unknown();
    case 0xba: // bt, bts of an immediate
        return o->digit == 4 || (o->digit == 5 && o->memory) ? looks(o, 0) : arch_unknown();
    case 0xb0: // cmpxchg: while it waits, it stores nothing
    case 0xb1:
        return o->memory ? arch_sets(arch_bit(RAX), arch_bit(RAX) | o->reg | o->address, true)
                         : arch_unknown();
    case 0xb6: // movzx, movsx
    case 0xb7:
    case 0xbe:
    case 0xbf:
        return arch_sets(o->reg, o->rm | o->address, o->memory);
    default:
        return arch_unknown();
    }
}

static bool is_prefix(uint8_t byte) {
    static const uint8_t known[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};
    for (size_t i = 0; i < sizeof known; i++)
        if (byte == known[i])
            return true;
    return false;
}

// The REX prefix, or else the opcode.
static const uint8_t *after_prefixes(const struct arch_insn *insn) {
    const uint8_t *at = insn->bytes;
    while (is_prefix(*at) && at < insn->bytes + 4)
        at++;
    return at;
}

static struct arch_effect effect_of(const struct arch_insn *insn) {
    const uint8_t *at = after_prefixes(insn);
    unsigned rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
    uint8_t opcode = *at++;
    if (opcode == 0x90) // nop, pause
        return (struct arch_effect){0};
    if ((opcode & 0xf0) == 0xb0) // mov of an immediate
        return arch_sets(arch_bit((opcode & 7) | (rex & 1) << 3), 0, false);
    if (opcode == 0x3c || opcode == 0x3d || opcode == 0xa8 || opcode == 0xa9) // cmp, test of rax
        return (struct arch_effect){.reads = arch_bit(RAX)};
    if (opcode == 0x24 || opcode == 0x25 || opcode == 0x2c || opcode == 0x2d) // and, sub of rax
        return arch_sets(arch_bit(RAX), arch_bit(RAX), false);
    struct operands o = operands(opcode == 0x0f ? at + 1 : at, rex);
    return opcode == 0x0f ? two_bytes(at, &o) : one_byte(opcode, &o);
}

// The distance of a jump, conditional or not. False for any other instruction, calls included.
static bool jump(const struct arch_insn *insn, bool *conditional, int64_t *by) {
    const uint8_t *b = insn->bytes;
    size_t n = insn->length;
    bool near = n == 6 && b[0] == 0x0f && (b[1] & 0xf0) == 0x80;
    *conditional = near || (b[0] & 0xf0) == 0x70;
    if (n == 2 && (*conditional || b[0] == 0xeb))
        *by = (int8_t)b[1];
    else if (near || (n == 5 && b[0] == 0xe9)) {
        uint32_t raw = 0;
        for (size_t i = 0; i < 4; i++)
            raw |= (uint32_t)b[n - 4 + i] << 8 * i;
        *by = (int32_t)raw;
    } else
        return false;
    return true;
}

static enum arch_flow flow(const struct arch_insn *insn, int64_t *by) {
    const uint8_t *at = after_prefixes(insn);
    if ((*at & 0xf0) == 0x40) // REX
        at++;
    if (*at == 0xe8) {
        *by = (int32_t)arch_word(at + 1);
        return ARCH_CALLS_NEAR;
    }
    if (*at == 0xff && (at[1] >> 3 & 7) == 2)
        return ARCH_CALLS_FAR;
    return *at == 0xc3 || *at == 0xc2 ? ARCH_RETURNS : ARCH_STRAIGHT;
}

static bool returns(const struct arch_insn *insn) {
    int64_t by;
    return flow(insn, &by) == ARCH_RETURNS;
}

static enum arch_kind kind(const struct arch_insn *insn) {
    const uint8_t *b = insn->bytes;
    if (b[0] == 0xf3 && b[1] == 0x90)
        return ARCH_PAUSE;
    if (b[0] == 0xcd || (b[0] == 0x0f && (b[1] == 0x05 || b[1] == 0x34))) // int, syscall, sysenter
        return ARCH_CALLS;
    return b[0] == 0x0f && (b[1] == 0x31 || (b[1] == 0x01 && b[2] == 0xf9)) ? ARCH_READS_CLOCK : ARCH_OTHER;
}

// A long NOP whose displacement is 0x4c42'KK'00.
static int mark(const struct arch_insn *insn) {
    const uint8_t *b = insn->bytes;
    bool is_mark = insn->length == 8 && b[0] == 0x0f && b[1] == 0x1f && b[2] == 0x84 && b[3] == 0 &&
                   b[4] == 0 && b[6] == 0x42 && b[7] == 0x4c;
    return is_mark ? b[5] : ARCH_NO_MARK;
}

// ---- for the memory system

// True with a lock prefix, and for xchg with memory, which needs none.
static bool is_atomic(const struct arch_insn *insn) {
    const uint8_t *at = after_prefixes(insn);
    for (const uint8_t *prefix = insn->bytes; prefix < at; prefix++)
        if (*prefix == 0xf0)
            return true;
    if ((*at & 0xf0) == 0x40) // REX
        at++;
    return (*at == 0x86 || *at == 0x87) && at[1] >> 6 != 3;
}

// mov of a zero to memory that is not on the stack: not by rsp, and not by rbp, which may be a frame. Kernels release
// their locks so: a store needs no fence here.
static bool stores_zero(const uint8_t *at, unsigned rex, const uint8_t *end, bool is_short) {
    unsigned mod = at[1] >> 6, rm = at[1] & 7, base = (rm == 4 ? at[2] & 7 : rm) | (rex & 1) << 3;
    if ((*at != 0xc6 && *at != 0xc7) || mod == 3 || base == 4 || (base == 5 && mod != 0))
        return false;
    for (int i = *at == 0xc6 ? 1 : is_short ? 2 : 4; i > 0; i--)
        if (end[-i] != 0)
            return false;
    return true;
}

// Atomic ones; a store of zero; hlt, cli, sti, popf, iret; wrmsr, which sends interrupts; mfence, sfence.
static bool synchronises(const struct arch_insn *insn) {
    const uint8_t *at = after_prefixes(insn);
    unsigned rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
    if (*at == 0x0f)
        return is_atomic(insn) || at[1] == 0x30 || (at[1] == 0xae && at[2] >= 0xf0);
    if (stores_zero(at, rex, insn->bytes + insn->length, insn->bytes[0] == 0x66))
        return true;
    return is_atomic(insn) || *at == 0xf4 || *at == 0xfa || *at == 0xfb || *at == 0x9d || *at == 0xcf;
}

// mov to a control register, lmsw, invlpg, invpcid, invept, invvpid, rsm; vmrun and its kin. Another CPU's
// translations are changed by an interrupt, after which it executes such an instruction itself.
static enum arch_reach remaps(const struct arch_insn *insn) {
    const uint8_t *at = after_prefixes(insn);
    if ((*at & 0xf0) == 0x40) // REX
        at++;
    if (*at++ != 0x0f)
        return ARCH_NOWHERE;
    unsigned digit = at[1] >> 3 & 7;
    bool memory = at[1] >> 6 != 3;
    bool system = at[0] == 0x01 && (digit == 6 || (digit == 7 && memory) || (digit == 3 && !memory));
    bool invalidates = at[0] == 0x38 && at[1] >= 0x80 && at[1] <= 0x82;
    return at[0] == 0x22 || at[0] == 0xaa || system || invalidates ? ARCH_HERE : ARCH_NOWHERE;
}

// call to a near address, or through a register or memory: of FF /2 every length. A few other instructions end in the
// same bytes.
static bool ends_with_call(const uint8_t *end) {
    if (end[-5] == 0xe8)
        return true;
    for (int length = 2; length <= 7; length++)
        if (end[-length] == 0xff && (end[1 - length] >> 3 & 7) == 2) {
            unsigned mod = end[1 - length] >> 6, rm = end[1 - length] & 7;
            int more = (mod != 3 && rm == 4) + (mod == 1) + 4 * (mod == 2 || (mod == 0 && rm == 5));
            if (length == 2 + more)
                return true;
        }
    return false;
}

// hlt; mov to cr3. The local APIC is sent to by a store.
static enum arch_act act(const struct arch_insn *insn) {
    const uint8_t *at = after_prefixes(insn);
    unsigned rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
    if (*at == 0xf4)
        return ARCH_HALTS;
    bool is_cr3 = *at == 0x0f && at[1] == 0x22 && (at[2] >> 3 & 7) == 3 && !(rex & 4);
    return is_cr3 ? ARCH_MAPS : ARCH_NO_ACT;
}

const struct arch arch_x86 = {
    .target = "x86_64",
    .clock_step = 1,
    .clock_is_host_tsc = true,
    .kind = kind,
    .mark = mark,
    .jump = jump,
    .effect = effect_of,
    .flow = flow,
    .arguments = {"rdi", "rsi", "rdx", "rcx"},
    .stack = "rsp",
    .ends_with_call = ends_with_call,
    .atomic = is_atomic,
    .synchronises = synchronises,
    .remaps = remaps,
    .act = act,
    .returns = returns,
    .call_length = 2,
    .result = "rax",
    .call = "rax",
    .level = "cs",
    .level_bits = 3,
    .level_user = 3,
};
