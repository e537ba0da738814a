"""Repeated runs on the instruction clock on RISC-V and AArch64: all are equal, and take the time that
arithmetic gives. $BENCHGATE_SOAK_RUNS is the number of boots per
row (default 20), $BENCHGATE_SOAK_HI the last number that boots of Linux search for primes (default 300000).
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.system.arch import RISCV64, Architecture
from benchgate.build.fetch import inputs
from benchgate.insn.arguments import Records
from benchgate.insn.kallsyms import MIN_SYMBOLS, linux_symbols
from benchgate.insn.symbols import read_symbols
from tests.barekit import CASES, GOOD, GUESTS, Case, boot, kernel, qemu_for
from tools import clock_lab
from tools.clock_lab import FIRMWARE, PRIMES, blocks, burning, lab

pytestmark = pytest.mark.soak

RUNS = int(os.environ.get("BENCHGATE_SOAK_RUNS", "20"))
LAST = int(os.environ.get("BENCHGATE_SOAK_HI", "300000"))
LOADS = (0, 2)
ERROR = 0.007


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bare")


@pytest.mark.parametrize("guest", GUESTS, ids=str)
@pytest.mark.parametrize("cpus", [1, 2, 4, 8])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_runs_are_equal_and_take_their_time(
    guest: Architecture, cpus: int, case: Case, images: Path, tmp_path: Path
) -> None:
    image = kernel(guest, images)
    first = boot(guest, image, tmp_path, case, cpus)
    assert first.status == GOOD, first.console + first.errors
    if case.expected is not None:
        assert first.took == pytest.approx(case.expected(cpus), rel=ERROR)
    for burners in LOADS:
        with burning(burners):
            others = [boot(guest, image, tmp_path, case, cpus) for _ in range(RUNS)]
        assert [bare.repeatable for bare in others] == [first.repeatable] * RUNS > []


@pytest.mark.parametrize("guest", GUESTS, ids=str)
def test_boots_of_linux_are_equal(guest: Architecture) -> None:
    """The console, the marks, the totals and the counters are equal at 8 CPUs."""
    bench, words = lab(guest=guest), PRIMES.format(hi=LAST)
    seen: list[tuple[str, object]] = []
    for burners in (0, *LOADS):  # the first boot is that with which the others are compared
        with burning(burners):
            for _ in range(RUNS if seen else 1):
                done = bench.boot("primes", 8, words, seed=5)
                assert done.good, done.console + done.errors
                assert done.log is not None
                assert done.window(8).work > 0
                seen.append((done.console, done.log.repeatable))
    assert seen == [seen[0]] * (1 + len(LOADS) * RUNS)


@pytest.mark.parametrize("guest", GUESTS, ids=str)
def test_a_linux_kernel_tells_its_symbols(guest: Architecture) -> None:
    symbols = read_symbols(linux_symbols(qemu_for(guest), inputs.linux_kernel(guest=guest).image))
    assert len(symbols.names) > MIN_SYMBOLS
    assert "schedule" in symbols.names


def barriers(guest: Architecture, folder: Path) -> tuple[float, int]:
    """A window of blocking barriers at 4 CPUs: its excess over arithmetic, and OpenSBI's instructions in
    it."""
    case = next(one for one in clock_lab.CASES if one.name == "barrier")
    file = folder / "profile"
    done = clock_lab.boot_case(lab(guest=guest), case, 4, records=Records(profile=file))
    seen = clock_lab.outcome(case, 4, done)
    ran = blocks(file)
    assert sum(count for _, count in ran) > case.work
    return seen.error, sum(count for address, count in ran if address in FIRMWARE)


def test_wake_ups_on_riscv_take_longer_because_the_firmware_executes_instructions(tmp_path: Path) -> None:
    """A CPU of `virt` asks OpenSBI to interrupt another one, which is interrupted in machine mode. With the
    other interrupt controller CPUs do that by themselves; then the window agrees with arithmetic."""
    error, firmware = barriers(RISCV64, tmp_path)
    assert error > ERROR
    assert firmware > 100_000
    error, firmware = barriers(replace(RISCV64, machine="virt,aia=aplic-imsic"), tmp_path)
    assert error < ERROR
    assert firmware == 0
