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
    _fields_ = (("end", ctypes.c_uint64), ("count", ctypes.c_size_t), ("insns", Insn * MOST))


class Spin(ctypes.Structure):
    _fields_ = (("on", ctypes.c_int), ("instructions", ctypes.c_size_t))


def build(folder: Path, change: tuple[str, str] | None = None) -> ctypes.CDLL:
    library = load(folder, "spin", beside=ARCHITECTURES, change=change)
    library.spin_follow.restype = Spin
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("spin"))


def judge(library: ctypes.CDLL, code: str, architecture: str = "arch_x86") -> tuple[int, int]:
    """What spin.c says after the last of these instructions; a `-` is a gap between their addresses."""
    arch = ctypes.byref(ctypes.c_char.in_dll(library, architecture))
    trail, at, found = Trail(), 0x1000, Spin()
    for word in code.split():
        if word == "-":
            at += 64
            continue
        raw = bytes.fromhex(word)
        insn = Insn((ctypes.c_uint8 * LONGEST)(*raw), len(raw))
        found = library.spin_follow(arch, ctypes.byref(trail), ctypes.c_uint64(at), ctypes.byref(insn))
        at += len(raw)
    return found.on, found.instructions


LOOPS = {
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
WORK = {
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


@pytest.mark.parametrize("name", LOOPS)
def test_a_spin_is_detected(library: ctypes.CDLL, name: str) -> None:
    code, on = LOOPS[name]
    assert judge(library, code) == (on, len(code.split()))


@pytest.mark.parametrize("name", WORK)
def test_a_loop_that_works_is_not_detected_as_a_spin(library: ctypes.CDLL, name: str) -> None:
    assert judge(library, WORK[name]) == (WORKS, 0)


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
    assert judge(build(tmp_path, change), WORK[name]) != (WORKS, 0)
