"""The Linux guest on RISC-V and AArch64: the same row as on x86, and the same refusals.

A test is skipped only where a package source has no QEMU, kernel or compiler for the architecture.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from benchgate.base.errors import FetchError
from benchgate.base.system.arch import AARCH64, RISCV64, Architecture
from benchgate.build.fetch import cross, inputs
from tests.line.sessions import CELLS, linux_with, run_pytest, write_test

SMALL = '"primes", hi=100_000'
PANIC = ("init=/none rdinit=/none", "the guest panicked: ")
TCG = ("--accel=tcg", "--clock=wall")


BOTH = pytest.mark.parametrize("guest", [RISCV64, AARCH64], ids=str)


@cache
def missing(guest: Architecture) -> str:
    """Why there is no guest of this architecture here; asked once, because a source that changes is tried for
    long."""
    try:
        inputs.qemu(None, guest)
        inputs.linux_kernel(None, guest)
        cross.compiler(guest)
    except FetchError as error:
        return f"guests of {guest} cannot be had here: {error}"
    return ""


@pytest.fixture(autouse=True)
def _can_be_had(guest: Architecture) -> None:
    if reason := missing(guest):
        pytest.skip(reason)


@BOTH
def test_a_row_is_verified_and_repeats_on_the_instruction_clock(tmp_path: Path, guest: Architecture) -> None:
    write_test(tmp_path, CELLS, SMALL)
    session = run_pytest(tmp_path, f"--system=linux:arch={guest}", "--clock=insn", "--smp=2", "--runs=1")
    assert session.code == 0, session.output
    name = f"linux.arch-{guest}"
    assert session.outcomes(2, name) == ["ok"]
    warmup, run = (row for row in session.rows if row["system"] == name)
    assert (warmup["outcome"], warmup["work"]) == ("warmup", run["work"])


@pytest.mark.parametrize(
    ("guest", "words", "why"),
    [
        pytest.param(RISCV64, "maxcpus=1", "1 came up", marks=pytest.mark.long),  # x86-64: test_real_boots.py
        pytest.param(RISCV64, *PANIC, marks=pytest.mark.long),
        pytest.param(AARCH64, *PANIC, marks=pytest.mark.long),
        (AARCH64, "bench.set=/none:1", "the guest reported a failure: benchfail: init: /none"),
    ],
    ids=["one of two CPUs", "panic on riscv64", "panic on aarch64", "failure of PID 1"],
)
def test_a_boot_that_fails_is_told_from_one_that_succeeds(
    tmp_path: Path, guest: Architecture, words: str, why: str
) -> None:
    """Both end QEMU with status 0."""
    write_test(tmp_path, CELLS, SMALL)
    path = linux_with(tmp_path, "bad", words)
    session = run_pytest(tmp_path, f"--system={path}:arch={guest}", "--smp=2", "--runs=1", *TCG)
    assert session.code == 1, session.output
    assert {row["verified"] for row in session.rows} == {"false"}
    assert why in session.output
