"""spin.c tells loops that only wait from loops that do work, by their instructions."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from tests.unit.insn.c.native import load

WORKS, ON_MEMORY, ON_CLOCK, ON_NOTHING = range(4)
MOST, LONGEST = 16, 15
ARCHITECTURES = ("arch_x86", "arch_riscv", "arch_arm")


class Insn(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_uint8 * LONGEST), ("length", ctypes.c_size_t))


class Trail(ctypes.Structure):
    _fields_ = (
        ("end", ctypes.c_uint64),
        ("count", ctypes.c_size_t),
        ("insns", Insn * MOST),
        ("counted", ctypes.c_int8 * MOST),
    )


class Spin(ctypes.Structure):
    _fields_ = (
        ("on", ctypes.c_int),
        ("counted", ctypes.c_int),
        ("instructions", ctypes.c_size_t),
        ("begins_before", ctypes.c_bool),
    )


def build(folder: Path, change: tuple[str, str] | None = None) -> ctypes.CDLL:
    library = load(folder, "spin", beside=ARCHITECTURES, change=change)
    library.spin_closed.restype = Spin
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("spin"))


def judge(library: ctypes.CDLL, code: str, architecture: str = "arch_x86") -> tuple[int, int]:
    """What spin.c says after the last of these instructions; a `-` is a gap between their addresses."""
    spin = judged(library, code, architecture)[-1]
    return spin.on, spin.instructions


def judged(library: ctypes.CDLL, code: str, architecture: str) -> list[Spin]:
    """The same after each of them."""
    arch = ctypes.byref(ctypes.c_char.in_dll(library, architecture))
    trail, at, spins = Trail(), 0x1000, [Spin()]
    for word in code.split():
        if word == "-":
            at += 64
            continue
        raw = bytes.fromhex(word)
        insn = Insn((ctypes.c_uint8 * LONGEST)(*raw), len(raw))
        library.spin_add(ctypes.byref(trail), ctypes.c_uint64(at), ctypes.byref(insn))
        spins.append(library.spin_closed(arch, ctypes.byref(trail)))
        at += len(raw)
    return spins


X86_LOOPS = {
    "test and set: mov $1,%eax; xchg %eax,(%rdi); test %eax,%eax; jne": (
        "b801000000 8707 85c0 75f5",
        ON_MEMORY,
    ),
    "xchg %al,(%rdi); test %al,%al; jne": ("8607 84c0 75fa", ON_MEMORY),
    "ticket: mov (%rdi),%eax; cmp %esi,%eax; jne": ("8b07 39f0 75fa", ON_MEMORY),
    "flag: cmpb $0,(%rdi); je": ("803f00 74fb", ON_MEMORY),
    "far: cmpl $0,0x1234(%rip); je near": ("833d3412000000 0f84f3ffffff", ON_MEMORY),
    "xor %eax,%eax; lock cmpxchg %ecx,(%rdi); jne": ("31c0 f00fb10f 75f8", ON_MEMORY),
    "lock btsl $0,(%rdi); jc": ("f00fba2f00 72f9", ON_MEMORY),
    "with an exit: mov (%rdi),%eax; test %eax,%eax; jne out; pause; jmp": (
        "8b07 85c0 7504 f390 ebf6",
        ON_MEMORY,
    ),
    "rdtsc; shl $32,%rdx; mov %eax,%eax; or %rax,%rdx; cmp %rcx,%rdx; jb": (
        "0f31 48c1e220 89c0 4809c2 4839ca 72f0",
        ON_CLOCK,
    ),
    "lfence; rdtscp; sub %ebx,%eax; cmp %esi,%eax; jb": ("0faee8 0f01f9 29d8 39f0 72f4", ON_CLOCK),
    "for ever: jmp": ("ebfe", ON_NOTHING),
    "for ever: pause; jmp": ("f390 ebfc", ON_NOTHING),
    "reads nothing: test %eax,%eax; jne": ("85c0 75fc", ON_NOTHING),
}
X86_WORK = {
    "counts: dec %ecx; jne": "ffc9 75fc",
    "counts iterations: rdtsc; sub $1,%ecx; jne": "0f31 83e901 75f9",
    "counts while it waits: mov (%rdi),%eax; add $1,%ecx; test %eax,%eax; je": "8b07 83c101 85c0 74f7",
    "walks a list: mov (%rax),%rax; test %rax,%rax; jne": "488b00 4885c0 75f8",
    "walks a list by a copy: mov (%rbx),%rax; mov %rax,%rbx; test; jne": "488b03 4889c3 4885c0 75f5",
    "searches: cmp %al,(%rdi,%rcx); lea 1(%rcx),%rcx; jne": "38040f 488d4901 75f7",
    "adds atomically: mov (%rdi),%eax; lea 1(%rax),%edx; lock cmpxchg %edx,(%rdi); jne to the lea": (
        "8b07 8d5001 f00fb117 75f7"
    ),
    "stores: mov %eax,(%rdi); cmp %eax,(%rsi); jne": "8907 3906 75fa",
    "jumps within: mov (%rdi),%eax; je over; mov (%rsi),%eax; test; jne": "8b07 7402 8b06 85c0 75f6",
    "forward: cmpb $0,(%rdi); je": "803f00 7405",
    "an unknown instruction: cpuid; cmpb $0,(%rdi); je": "0fa2 803f00 74f9",
    "in two places: cmpb $0,(%rdi); ...; je": "803f00 - 74fb",
}


RISCV_LOOPS = {
    "ticket: lw a5,(a0); sext.w a5,a5; bne a5,a4": ("1c41 8127 e39ee7fe", ON_MEMORY),
    "lr.w t0,(a0); bnez": ("af220510 e39e02fe", ON_MEMORY),
    "test and set: mv a5,a4; amoswap.w.aq a5,a5,(s1); sext.w a5,a5; bnez": (
        "ba87 afa7f40c 8127 e5ff",
        ON_MEMORY,
    ),
    "amoor.w.aq a5,a4,(s1); bnez": ("afa7e444 f5ff", ON_MEMORY),
    "as Linux waits: ld a5,8(s0); bnez out; div a3,a3,zero; pause; j": (
        "1c64 91e7 b3c60602 0f000001 d5bf",
        ON_MEMORY,
    ),
    "a pointer on the stack: ld a5,8(sp); lbu a5,(a5); beqz": ("a267 83c70700 eddf", ON_MEMORY),
    "lw a5,(s1); fence r,rw; andi a5,a5,1; beqz": ("9c40 0f003002 858b e5df", ON_MEMORY),
    "rdtime a5; bltu a5,a4": ("f32710c0 e3eee7fe", ON_CLOCK),
    "for an interrupt: csrr a5,sip; andi a5,a5,2; beqz": ("f3274014 898b eddf", ON_NOTHING),
    "for ever: j": ("01a0", ON_NOTHING),
    "reads nothing: nop; bnez a0": ("0100 7dfd", ON_NOTHING),
}
RISCV_WORK = {
    "counts: addi a5,a5,-1; bnez": "fd17 fdff",
    "counts while it waits: lw a4,(a0); addi a5,a5,1; beqz": "1841 8507 75df",
    "walks a list: ld a0,(a0); bnez": "0861 7dfd",
    "walks a list by a copy: ld a0,(a1); mv a1,a0; bnez": "8861 aa85 75fd",
    "stores: sw a5,(a0); lw a4,(a1); bnez": "1cc1 9841 75ff",
    "adds: amoadd.w a5,a4,(s1); bnez": "afa7e400 f5ff",
    "stores exclusively: lr.w t0,(a0); sc.w t1,a4,(a0); bnez t1": "af220510 2f23e518 e31c03fe",
    "changes a CSR: csrrsi a5,sstatus,2; lw a4,(a0); beqz": "f3670110 1841 6ddf",
    "calls: lw a4,(a0); jal; beqz": "1841 eff05ff7 6ddf",
    "halts: wfi; lw a4,(a0); beqz": "73005010 1841 6ddf",
    "jumps within: lw a4,(a0); beqz over; lw a4,(a1); bnez": "1841 11c3 9841 6dff",
    "keeps a remainder: rem a3,a3,zero; lw a4,(a0); beqz": "b3e60602 1841 6ddf",
}
ARM_LOOPS = {
    "ticket: ldr w1,[x0]; cmp w1,w2; b.ne": ("010040b9 3f00026b c1ffff54", ON_MEMORY),
    "ldar w1,[x0]; cbz": ("01fcdf88 e1ffff34", ON_MEMORY),
    "with an exit: ldaxr w1,[x0]; cbz out; wfe; b": ("01fc5f88 61000034 5f2003d5 fdffff17", ON_MEMORY),
    "test and set: mov w1,#1; swpa w1,w1,[x0]; cbnz": ("21008052 0180a1b8 c1ffff35", ON_MEMORY),
    "ldseta w2,w1,[x0]; tbnz w1,#0": ("0130a2b8 e1ff0737", ON_MEMORY),
    "mov w1,wzr; casa w1,w2,[x0]; cbnz": ("e1031f2a 027ce188 c1ffff35", ON_MEMORY),
    "in an array: ldr x1,[x0,x2,lsl #3]; and x1,x1,#0xff; cbz": ("017862f8 211c4092 c1ffffb4", ON_MEMORY),
    "ldp x1,x2,[x0]; cmp x1,x2; b.ne": ("010840a9 3f0002eb c1ffff54", ON_MEMORY),
    "yield; ldrb w1,[sp,#15]; cset w3,ne; tbz w1,#3": (
        "3f2003d5 e13f4039 e3079f1a a1ff1f36",
        ON_MEMORY,
    ),
    "ldurb w1,[x0,#-1]; uxtb w1,w1; cbz": ("01f05f38 211c0053 c1ffff34", ON_MEMORY),
    "isb; mrs x1,cntvct_el0; sub x1,x1,x3; cmp x1,x2; b.lo": (
        "df3f03d5 41e03bd5 210003cb 3f0002eb 83ffff54",
        ON_CLOCK,
    ),
    "for ever: b": ("00000014", ON_NOTHING),
    "for ever: wfe; b": ("5f2003d5 ffffff17", ON_NOTHING),
}
ARM_WORK = {
    "counts: subs x0,x0,#1; b.ne": "000400f1 e1ffff54",
    "counts while it waits: ldr w1,[x0]; add w2,w2,#1; cbz": "010040b9 42040011 c1ffff34",
    "walks a list: ldr x0,[x0]; cbnz": "000040f9 e0ffffb5",
    "walks a string: ldrb w1,[x0],#1; cbnz": "01144038 e1ffff35",
    "stores: str w1,[x0]; ldr w2,[x3]; cbz": "010000b9 620040b9 c2ffff34",
    "keeps a half: movk x1,#5; ldr w2,[x3]; cbz": "a10080f2 620040b9 c2ffff34",
    "keeps some bits: bfi w1,w2,#3,#4; ldr w2,[x3]; cbz": "410c1d33 620040b9 c2ffff34",
    "adds: ldadd w2,w1,[x0]; cbnz": "010022b8 e1ffff35",
    "stores exclusively: ldxr w1,[x0]; stxr w2,w3,[x0]; cbnz": "017c5f88 037c0288 c2ffff35",
    "enables interrupts: msr daifclr,#2; ldr w1,[x0]; cbz": "ff4203d5 010040b9 c1ffff34",
    "halts: wfi; ldr w1,[x0]; cbz": "7f2003d5 010040b9 c1ffff34",
    "moves the stack: add sp,sp,#16; ldr w2,[x3]; cbz": "ff430091 620040b9 c2ffff34",
    "loads a float: ldr d0,[x3]; ldr w2,[x3]; cbz": "600040fd 620040b9 c2ffff34",
    "calls: ldr w2,[x3]; bl; cbz": "620040b9 b6ffff97 c2ffff34",
}
LOOPS = {
    (arch, name): found
    for arch, loops in zip(ARCHITECTURES, (X86_LOOPS, RISCV_LOOPS, ARM_LOOPS), strict=True)
    for name, found in loops.items()
}
WORK = {
    (arch, name): code
    for arch, loops in zip(ARCHITECTURES, (X86_WORK, RISCV_WORK, ARM_WORK), strict=True)
    for name, code in loops.items()
}
NAMED = "-".join  # the name of a test


@pytest.mark.parametrize("loop", LOOPS, ids=NAMED)
def test_a_spin_is_detected(library: ctypes.CDLL, loop: tuple[str, str]) -> None:
    code, on = LOOPS[loop]
    assert judge(library, code, loop[0]) == (on, len(code.split()))


@pytest.mark.parametrize("loop", WORK, ids=NAMED)
def test_a_loop_that_works_is_not_detected_as_a_spin(library: ctypes.CDLL, loop: tuple[str, str]) -> None:
    assert judge(library, WORK[loop], loop[0]) == (WORKS, 0)


def test_the_code_before_a_loop_is_not_part_of_it(library: ctypes.CDLL) -> None:
    before = " ".join(["ffc9"] * 40)
    assert judge(library, f"{before} 803f00 74fb") == (ON_MEMORY, 2)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (("if (began_with & changed)", "if (0)"), "walks a list: mov (%rax),%rax; test %rax,%rax; jne"),
        (
            ("|| (at + by >= 0 && at + by < length)", ""),
            "jumps within: mov (%rdi),%eax; je over; mov (%rsi),%eax; test; jne",
        ),
        (("start != trail->end", "0"), "in two places: cmpb $0,(%rdi); ...; je"),
        (("if (e.unknown)", "if (0)"), "stores: mov %eax,(%rdi); cmp %eax,(%rsi); jne"),
    ],
)
def test_without_one_of_its_rules_spin_c_would_fail_these_tests(
    tmp_path: Path, change: tuple[str, str], name: str
) -> None:
    assert judge(build(tmp_path, change), X86_WORK[name]) != (WORKS, 0)


def test_a_loop_in_a_loop_is_not_counted_twice(library: ctypes.CDLL) -> None:
    """bench_lock, as gcc makes it: an exchange, and then reads with `pause` until the lock is free. The jump
    that tries again is executed in each of these reads."""
    head, look, again, rest = "89d0 8707 85c0 7410", "8b07 85c0", "74f2", "f390 ebf6"
    spins = judged(library, f"{head} {look} {again} {rest}", "arch_x86")
    counted = [(spin.instructions, spin.counted) for spin in spins if spin.on]
    assert counted == [(7, 7), (5, 1)]
    reads = (look + " " + again + " " + rest).split()
    assert len(reads) <= sum(spin.counted for spin in spins[-len(reads) :]) < 2 * len(reads)
    alone = judged(library, f"{look} {again} {rest}", "arch_x86")  # the jump leaves what was seen before
    assert [(spin.instructions, spin.counted) for spin in alone if spin.on] == [(5, 5)]


def test_a_jump_to_before_the_trail_says_so(library: ctypes.CDLL) -> None:
    """mov (%rdi),%eax; test %eax,%eax; jne far back: whether that loop waits is not known here."""
    for code, is_before in (("8b07 85c0 75c0", True), ("8b07 85c0 75fa", False), ("8b07 85c0 7504", False)):
        assert judged(library, code, "arch_x86")[-1].begins_before == is_before
