"""Repeated runs on the instruction clock on RISC-V and AArch64: all are equal, and take the time that
arithmetic gives. $BENCHGATE_SOAK_RUNS is the number of boots per row (default 20).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchgate.base.arch import Architecture
from benchgate.build.fetch import inputs
from benchgate.insn.linux_symbols import MIN_SYMBOLS, linux_symbols
from benchgate.insn.symbols import read_symbols
from tests.barekit import CASES, GOOD, GUESTS, Case, boot, kernel, qemu_for
from tools.clock_lab import PRIMES, burning, lab

pytestmark = pytest.mark.soak

RUNS = int(os.environ.get("BENCHGATE_SOAK_RUNS", "20"))
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
        assert [one.repeatable for one in others] == [first.repeatable] * RUNS > []


@pytest.mark.parametrize("guest", GUESTS, ids=str)
def test_boots_of_linux_are_equal(guest: Architecture) -> None:
    """At 8 CPUs: the console, the marks, the totals and the counters."""
    bench, words = lab(guest=guest), PRIMES.format(hi=300_000)
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
