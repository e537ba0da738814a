"""Panics of many kernels are suspected, and lines of kernels that run well are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.system.boots import REPEAT_BYTES
from benchgate.run.suspicion import REACH, Repetition, Suspicion


def suspected(text: bytes, *harmless: bytes) -> str:
    suspicion = Suspicion(harmless)
    suspicion.feed(text)
    return suspicion.line


@pytest.mark.parametrize(
    "line",
    [
        b"lapicid 0: panic: acquire",
        b"[1.234567] Kernel panic - not syncing: VFS",
        b"PANIC: heap",
        b"panic(cpu 0 caller 0xffff): trap",
        b"[PANIC] panicked at src/main.rs:12: no memory",
        b"thread 'main' panicked at src/lib.rs:3",
        b"*** ZIRCON KERNEL PANIC (caller pc: 0x1):",
        b"Unhandled exception 14 at 0x10",
        b"unexpected trap 14 from cpu 0 eip 801 (cr2=0x0)",
        b"CPU 1: fatal page fault",
        b"Fatal trap 12: page fault while in kernel mode",
        b"DOUBLE FAULT",
        b"ASSERT at thread.c:12: t->magic failed",
        b"assertion `x` failed: y",
        b"sbi_trap_error: hart0: trap handler failed (error -2)",
        b"<1>BUG: unable to handle page fault for address: 0",
        b"(XEN) Panic on CPU 0:",
        b"kernel panic on CPU 0 at kern/pmap.c:646: assertion failed: x",
    ],
)
def test_a_panic_is_suspected(line: bytes) -> None:
    assert suspected(b"boot\n" + line + b"\nrax=0\n") == line.decode()
    assert suspected(line) == line.decode()


@pytest.mark.parametrize(
    "line",
    [
        b"Command line: console=ttyS0 panic=-1 bench.workload=primes",
        b"[    0.1] Kernel command line: panic=1 oops=panic",
        b"[    0.1] kernel.panic_on_oops: 1",
        b"PASS: double fault",
        b"PASS: unhandled exception hook",
        b"no panic: all is well",
        b"init: kernel panic=-1 was given",
        b"panic handler installed",
        b"(XEN) Scheduling granularity: cpu, 1 CPU per sched-resource",
        b"(XEN) watchdog: panic=off",
        b"assertions: 12 passed, 0 failed",
        b"0 bugs: good",
        b"DEBUG: 1",
        b"interrupts: unexpected 0",
    ],
)
def test_a_good_line_is_not(line: bytes) -> None:
    assert suspected(line + b"\n") == ""


def test_it_is_the_first_that_is_not_harmless() -> None:
    text = b"oops: one\noops: two\noops: three\n"
    assert suspected(text) == "oops: one"
    assert suspected(text, rb"(?<=\n)oops: one(?=\n)") == "oops: two"


def test_a_kernel_that_prints_on_is_not_suspected_for_ever() -> None:
    suspicion = Suspicion()
    suspicion.feed(b"panic: none\n")
    for number in range(REACH // 10):
        suspicion.feed(b"line %5d\n" % number)
    assert suspicion.line == ""


def test_a_line_may_come_in_pieces_and_a_cut_line_is_no_line() -> None:
    suspicion = Suspicion()
    for byte in b"x\npanic: a":
        suspicion.feed(bytes([byte]))
    assert suspicion.line == "panic: a"
    cut = Suspicion()
    cut.feed(b"x" * 20 + b" panic: a\n" + b"y" * (REACH - 10))  # the limit cuts just before `panic`
    assert cut.line == ""


def test_each_line_is_looked_at_once() -> None:
    """A console of many small pieces costs no more than one of few: here 2,000 pieces of 1 byte."""
    looked = 0

    class Counted(Suspicion):
        def _is_harmless(self, line: bytes) -> bool:
            nonlocal looked
            looked += 1
            return super()._is_harmless(line)

    result = Counted([rb"oops"])
    result.feed(b"oops: 1\n" * 100)
    for _ in range(2000):
        result.feed(b".")
    assert (looked, result.line) == (100, "")


def repeated(text: bytes, *, limit: int = REPEAT_BYTES, size: int = 1 << 16) -> str:
    repetition = Repetition(limit)
    return next(
        (said for at in range(0, len(text), size) if (said := repetition.feed(text[at : at + size]))), ""
    )


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        (b"l", "the byte `l`"),
        (b"\n", "the byte `\\x0a`"),
        (b"unexpected trap 14\n", "`unexpected trap 14`"),
        (b"trap\n rip=1\n rsp=2\n", "trap"),
    ],
)
@pytest.mark.parametrize("size", [7, 1000, 1 << 16])
def test_what_is_repeated_is_said(unit: bytes, said: str, size: int) -> None:
    text = b"boot\nwell\n" + unit * (2 * REPEAT_BYTES // len(unit))
    assert said in repeated(text, size=size)


@pytest.mark.parametrize(
    "text",
    [
        b"." * (REPEAT_BYTES - 1),
        b"." * (REPEAT_BYTES - 10) + b" done\n" + b"." * (REPEAT_BYTES - 10),
        b"".join(b"test %d: ok\n" % number for number in range(20_000)),
        b"".join(b"." * 50 + b" %d%%\n" % (number // 100) for number in range(10_000)),
        b"0123456789abcdef" * 4000,
        b"".join(b"test %d: ok\n" % number for number in range(1000))[: REPEAT_BYTES // 8] * 20,
    ],
    ids=["dots", "two bars", "numbers", "progress", "short", "long unit"],
)
def test_progress_is_none(text: bytes) -> None:
    assert repeated(text) == ""


@given(unit=st.binary(min_size=1, max_size=64), before=st.binary(max_size=200), size=st.integers(1, 3000))
def test_any_short_unit_is_found_and_a_last_byte_that_differs_is_not(
    unit: bytes, before: bytes, size: int
) -> None:
    text = before + unit * (3000 // len(unit) + 1)
    assert repeated(text, limit=1024, size=size) != ""
    differs = unit[:-1] + bytes([unit[-1] ^ 1])
    broken = b"".join(unit * (500 // len(unit)) + differs + b"%d" % number for number in range(6))
    assert repeated(broken, limit=1024, size=size) == ""


def test_any_repetition_can_be_allowed() -> None:
    assert repeated(b"x" * 1_000_000, limit=0) == ""
