"""The tables of all architectures: which instructions are atomic, synchronise CPUs, or change translations.

Encodings: Intel SDM volume 2; The RISC-V Instruction Set Manual; Arm Architecture Reference Manual.
"""

from __future__ import annotations

import ctypes

import pytest

from tests.unit.insn.c.native import load

LONGEST = 15
NOWHERE, HERE, EVERYWHERE = range(3)
NOTHING, HALTS, MAPS, SENDS, MAY_SEND = range(5)


class Insn(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_uint8 * LONGEST), ("length", ctypes.c_size_t))


Asks = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Insn))


class Arch(ctypes.Structure):
    """struct arch of arch.h."""

    _fields_ = (
        ("target", ctypes.c_char_p),
        ("clock_is_host_tsc", ctypes.c_bool),
        ("clock_step", ctypes.c_uint64),
        ("devices_in_memory", ctypes.c_bool),
        *((name, ctypes.c_void_p) for name in ("kind", "mark", "jump", "effect")),
        *(
            (name, ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.POINTER(Insn)))
            for name in ("atomic", "stores", "synchronises")
        ),
        ("remaps", Asks),
        ("flow", ctypes.c_void_p),
        *(("arguments", ctypes.c_char_p * 4), ("stack", ctypes.c_char_p), ("link", ctypes.c_char_p)),
        *((name, ctypes.c_void_p) for name in ("ends_with_call", "unsigned_pointer")),
        ("act", Asks),
    )


def insn(code: str) -> Insn:
    raw = bytes.fromhex(code)
    return Insn((ctypes.c_uint8 * LONGEST)(*raw), len(raw))


def word(code: int) -> str:
    return code.to_bytes(4, "little").hex()


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Arch]:
    names = ("arch_x86", "arch_riscv", "arch_arm")
    return {name: Arch.in_dll(load(tmp_path_factory.mktemp(name), name), name) for name in names}


ATOMIC = {
    ("arch_x86", "lock add %eax,(%rdi)"): ("f00107", True),
    ("arch_x86", "lock cmpxchg16b (%rdi)"): ("f0480fc70f", True),
    ("arch_x86", "xchg %rax,(%rdi)"): ("488707", True),
    ("arch_x86", "xchg %eax,%edx"): ("87c2", False),
    ("arch_x86", "add %eax,(%rdi)"): ("0107", False),
    ("arch_x86", "rep movsb"): ("f3a4", False),
    ("arch_riscv", "lr.w a0,(a1)"): (word(0x1005A52F), False),
    ("arch_riscv", "sc.w a0,a2,(a1)"): (word(0x18C5A52F), True),
    ("arch_riscv", "amoadd.w a0,a2,(a1)"): (word(0x00C5A52F), True),
    ("arch_riscv", "lw a0,0(a1)"): (word(0x0005A503), False),
    ("arch_arm", "ldxr x0,[x1]"): (word(0xC85F7C20), False),
    ("arch_arm", "stxr w2,x0,[x1]"): (word(0xC8027C20), True),
    ("arch_arm", "ldxp x0,x2,[x1]"): (word(0xC87F0820), False),
    ("arch_arm", "stxp w3,x0,x2,[x1]"): (word(0xC8230820), True),
    ("arch_arm", "ldar x0,[x1]"): (word(0xC8DFFC20), False),
    ("arch_arm", "stlr x0,[x1]"): (word(0xC89FFC20), False),
    ("arch_arm", "cas x0,x2,[x1]"): (word(0xC8A07C22), True),
    ("arch_arm", "casp x0,x1,x2,x3,[x4]"): (word(0x48207C82), True),
    ("arch_arm", "ldadd x0,x2,[x1]"): (word(0xF8200022), True),
    ("arch_arm", "swp x0,x2,[x1]"): (word(0xF8208022), True),
    ("arch_arm", "ldapr x0,[x1]"): (word(0xF8BFC020), False),
    ("arch_arm", "ldr x0,[x1]"): (word(0xF9400020), False),
}

REACH = {
    ("arch_x86", "mov %rax,%cr3"): ("0f22d8", HERE),
    ("arch_x86", "mov %r8,%cr3"): ("410f22d8", HERE),
    ("arch_x86", "mov %cr3,%rax"): ("0f20d8", NOWHERE),
    ("arch_x86", "invlpg (%rdi)"): ("0f013f", HERE),
    ("arch_x86", "invpcid (%rdi),%rax"): ("660f388207", HERE),
    ("arch_x86", "lmsw %ax"): ("0f01f0", HERE),
    ("arch_x86", "vmrun"): ("0f01d8", HERE),
    ("arch_x86", "swapgs"): ("0f01f8", NOWHERE),
    ("arch_x86", "rdtscp"): ("0f01f9", NOWHERE),
    ("arch_x86", "wrmsr"): ("0f30", NOWHERE),
    ("arch_riscv", "sfence.vma"): (word(0x12000073), HERE),
    ("arch_riscv", "csrw satp,a0"): (word(0x18051073), HERE),
    ("arch_riscv", "csrr a0,satp"): (word(0x18002573), NOWHERE),
    ("arch_riscv", "csrrsi a0,satp,1"): (word(0x1800E573), HERE),
    ("arch_riscv", "csrw sscratch,a0"): (word(0x14051073), NOWHERE),
    ("arch_riscv", "ecall"): (word(0x00000073), NOWHERE),
    ("arch_riscv", "sret"): (word(0x10200073), NOWHERE),
    ("arch_arm", "tlbi vmalle1is"): (word(0xD508831F), EVERYWHERE),
    ("arch_arm", "tlbi vmalle1"): (word(0xD508871F), HERE),
    ("arch_arm", "tlbi vae1os,x0"): (word(0xD5088120), EVERYWHERE),
    ("arch_arm", "msr ttbr0_el1,x0"): (word(0xD5182000), HERE),
    ("arch_arm", "msr sctlr_el1,x0"): (word(0xD5181000), HERE),
    ("arch_arm", "mrs x0,ttbr0_el1"): (word(0xD5382000), NOWHERE),
    ("arch_arm", "msr tpidr_el0,x0"): (word(0xD51BD040), NOWHERE),
    ("arch_arm", "dc zva,x0"): (word(0xD50B7420), NOWHERE),
}

# Beside every atomic instruction.
SYNCHRONISES = {
    ("arch_x86", "hlt"): ("f4", True),
    ("arch_x86", "cli"): ("fa", True),
    ("arch_x86", "sti"): ("fb", True),
    ("arch_x86", "popf"): ("9d", True),
    ("arch_x86", "iretq"): ("48cf", True),
    ("arch_x86", "wrmsr"): ("0f30", True),
    ("arch_x86", "mfence"): ("0faef0", True),
    ("arch_x86", "lfence"): ("0faee8", False),
    ("arch_x86", "rdmsr"): ("0f32", False),
    ("arch_x86", "pause"): ("f390", False),
    ("arch_x86", "movl $0,(%rdi)"): ("c70700000000", True),
    ("arch_x86", "movb $0,(%rdi)"): ("c60700", True),
    ("arch_x86", "movw $0,8(%rdi)"): ("66c747080000", True),
    ("arch_x86", "movl $0,lock(%rip)"): ("c705aabbcc0000000000", True),
    ("arch_x86", "movl $0,8(%r12)"): ("41c744240800000000", True),
    ("arch_x86", "movl $0,-8(%r13)"): ("41c745f800000000", True),
    ("arch_x86", "movq $0,(%rdi)"): ("48c70700000000", True),
    ("arch_x86", "movl $1,(%rdi)"): ("c70701000000", False),
    ("arch_x86", "movl $256,(%rdi)"): ("c70700010000", False),
    ("arch_x86", "movl $0,8(%rsp)"): ("c744240800000000", False),
    ("arch_x86", "movl $0,-8(%rbp)"): ("c745f800000000", False),
    ("arch_x86", "mov $0,%eax"): ("c7c000000000", False),
    ("arch_riscv", "lr.w a0,(a1)"): (word(0x1005A52F), True),
    ("arch_riscv", "fence rw,rw"): (word(0x0330000F), True),
    ("arch_riscv", "pause"): (word(0x0100000F), False),
    ("arch_riscv", "fence.i"): (word(0x0000100F), False),
    ("arch_riscv", "wfi"): (word(0x10500073), True),
    ("arch_riscv", "sret"): (word(0x10200073), True),
    ("arch_riscv", "mret"): (word(0x30200073), True),
    ("arch_riscv", "ecall"): (word(0x00000073), True),
    ("arch_riscv", "csrsi sstatus,2"): (word(0x10016073), True),
    ("arch_riscv", "csrc mstatus,a0"): (word(0x30053073), True),
    ("arch_riscv", "csrr a0,sstatus"): (word(0x10002573), False),
    ("arch_riscv", "sd a0,0(a1)"): (word(0x00A5B023), False),
    ("arch_arm", "ldxr x0,[x1]"): (word(0xC85F7C20), True),
    ("arch_arm", "ldar x0,[x1]"): (word(0xC8DFFC20), True),
    ("arch_arm", "dmb ish"): (word(0xD5033BBF), True),
    ("arch_arm", "dsb sy"): (word(0xD5033F9F), True),
    ("arch_arm", "isb"): (word(0xD5033FDF), True),
    ("arch_arm", "clrex"): (word(0xD5033F5F), False),
    ("arch_arm", "wfi"): (word(0xD503207F), True),
    ("arch_arm", "yield"): (word(0xD503203F), False),
    ("arch_arm", "eret"): (word(0xD69F03E0), True),
    ("arch_arm", "msr daifset,#2"): (word(0xD50342DF), True),
    ("arch_arm", "msr daifclr,#2"): (word(0xD50342FF), True),
    ("arch_arm", "msr icc_sgi1r_el1,x0"): (word(0xD518CBA0), True),
    ("arch_arm", "str x0,[x1]"): (word(0xF9000020), False),
}


ACTS = {
    ("arch_x86", "hlt"): ("f4", HALTS),
    ("arch_x86", "mov %rax,%cr3"): ("0f22d8", MAPS),
    ("arch_x86", "mov %r8,%cr3"): ("410f22d8", MAPS),
    ("arch_x86", "mov %rax,%cr4"): ("0f22e0", NOTHING),
    ("arch_x86", "mov %rax,%cr11"): ("440f22d8", NOTHING),
    ("arch_x86", "mov %cr3,%rax"): ("0f20d8", NOTHING),
    ("arch_x86", "push %rsp"): ("54", NOTHING),
    ("arch_riscv", "wfi"): (word(0x10500073), HALTS),
    ("arch_riscv", "csrw satp,a0"): (word(0x18051073), MAPS),
    ("arch_riscv", "csrr a0,satp"): (word(0x18002573), NOTHING),
    ("arch_riscv", "csrw sscratch,a0"): (word(0x14051073), NOTHING),
    ("arch_riscv", "ecall"): (word(0x00000073), MAY_SEND),
    ("arch_riscv", "ebreak"): (word(0x00100073), NOTHING),
    ("arch_arm", "wfi"): (word(0xD503207F), HALTS),
    ("arch_arm", "wfe"): (word(0xD503205F), NOTHING),
    ("arch_arm", "msr ttbr0_el1,x3"): (word(0xD5182003), MAPS),
    ("arch_arm", "mrs x3,ttbr0_el1"): (word(0xD5382003), NOTHING),
    ("arch_arm", "msr ttbr1_el1,x3"): (word(0xD5182023), NOTHING),
    ("arch_arm", "msr icc_sgi1r_el1,x3"): (word(0xD518CBA3), SENDS),
    ("arch_arm", "svc #0"): (word(0xD4000001), NOTHING),
}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(0x08C5A02F, True, id="amoswap.w x0,a2,(a1)"),
        pytest.param(0x08C5A52F, False, id="amoswap.w a0,a2,(a1)"),
        pytest.param(0x00C5A02F, False, id="amoadd.w x0,a2,(a1)"),
        pytest.param(0x0005A023, False, id="sw x0,0(a1)"),
    ],
)
def test_an_exchange_that_gives_nothing_is_a_store(
    tables: dict[str, Arch], code: int, *, expected: bool
) -> None:
    assert tables["arch_riscv"].stores(insn(word(code))) is expected


@pytest.mark.parametrize("case", ACTS, ids=" ".join)
def test_what_kernels_do_by_one_instruction(tables: dict[str, Arch], case: tuple[str, str]) -> None:
    code, expected = ACTS[case]
    assert tables[case[0]].act(insn(code)) == expected


@pytest.mark.parametrize("case", SYNCHRONISES, ids=" ".join)
def test_instructions_by_which_cpus_agree(tables: dict[str, Arch], case: tuple[str, str]) -> None:
    code, expected = SYNCHRONISES[case]
    assert tables[case[0]].synchronises(insn(code)) is expected


@pytest.mark.parametrize("case", ATOMIC, ids=" ".join)
def test_atomic_instructions(tables: dict[str, Arch], case: tuple[str, str]) -> None:
    code, expected = ATOMIC[case]
    assert tables[case[0]].atomic(insn(code)) is expected
    assert tables[case[0]].synchronises(insn(code)) >= expected


@pytest.mark.parametrize("case", REACH, ids=" ".join)
def test_instructions_that_change_translations(tables: dict[str, Arch], case: tuple[str, str]) -> None:
    code, expected = REACH[case]
    assert tables[case[0]].remaps(insn(code)) == expected
