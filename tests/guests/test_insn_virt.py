"""The instruction clock on RISC-V and AArch64, under a guest without a kernel whose durations are known by
arithmetic.

The guest sets marks only for its own case, and the clock is kept in close step throughout. `nox -s soak` runs
every case at every CPU count.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.arch import Architecture
from benchgate.insn.arguments import QUANTUM
from benchgate.insn.log import ClockMode, Level
from benchgate.insn.plugin import prepare
from benchgate.insn.support import support, trial
from tests.barekit import GOOD, GUESTS, NAMED, Bare, boot, compiler_for, kernel, qemu_for

CPUS = 4
ERROR = 0.007

pytestmark = pytest.mark.parametrize("guest", GUESTS, ids=str)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bare")


def run(guest: Architecture, images: Path, folder: Path, name: str) -> Bare:
    done = boot(guest, kernel(guest, images), folder, NAMED[name], CPUS)
    assert done.status == GOOD, done.console + done.errors
    return done


def test_the_pinned_qemu_supports_the_full_clock(guest: Architecture) -> None:
    compiler_for(guest)
    found = support(qemu_for(guest))
    assert found.level is Level.FULL, found.reason
    assert "sleep=" in found.reason


def test_level_count_counts_the_marked_instructions(guest: Architecture) -> None:
    """`trial` compares them with the number that the probe has between its marks."""
    qemu = qemu_for(guest)
    said, log = trial(qemu, Level.COUNT, prepare(qemu, Level.COUNT), cpus=2)
    assert said.endswith(" instructions counted")
    begin, end = (mark.time for mark in log.marks if mark.kind in (1, 2))
    assert 2_000_000 <= end - begin < 2_000_010


@pytest.mark.parametrize("mode", list(ClockMode))
def test_level_count_counts_on_each_cpu_what_level_full_counts(
    guest: Architecture, images: Path, tmp_path: Path, mode: ClockMode
) -> None:
    """The counts of straight work are equal to the instruction. The host decides when the CPUs start."""
    image, case = kernel(guest, images), NAMED["perfect"]
    full = boot(guest, image, tmp_path, case, CPUS).spans
    counted = boot(guest, image, tmp_path, case, CPUS, level=Level.COUNT, mode=mode).spans
    assert counted == full
    assert list(full) != []
    assert case.expected is not None
    assert sum(full.values()) == pytest.approx(CPUS * case.expected(CPUS), rel=1e-5)


@pytest.mark.parametrize("name", ["barrier", "lock", "swap", "clocks"])
def test_a_case_takes_the_time_that_arithmetic_gives(
    guest: Architecture, images: Path, tmp_path: Path, name: str
) -> None:
    expected = NAMED[name].expected
    assert expected is not None
    assert run(guest, images, tmp_path, name).took == pytest.approx(expected(CPUS), rel=ERROR)


def test_a_loop_that_polls_a_device_takes_as_long_as_its_instructions(
    guest: Architecture, images: Path, tmp_path: Path
) -> None:
    """QEMU leaves a block at each access to a device, and the rest of the block must not count twice: here it
    is two instructions of three."""
    assert run(guest, images, tmp_path, "devices").each("sum")[0] == pytest.approx(300_000, rel=ERROR)


def test_timers_come_when_they_are_due(guest: Architecture, images: Path, tmp_path: Path) -> None:
    done = run(guest, images, tmp_path, "ticks")
    assert done.each("ticks") == [100] * CPUS
    assert max(done.each("worst")) < 1_000


def test_a_wait_for_the_clock_ends_on_time_and_is_cheap(
    guest: Architecture, images: Path, tmp_path: Path
) -> None:
    """20 waits of 500 us on each CPU, in a loop of at most four instructions: without skips the clock would
    be read ten million times or more."""
    done = run(guest, images, tmp_path, "spins")
    assert max(done.each("worst")) < 500_000 // 1000 + QUANTUM
    assert done.log.checks["guest_tsc"] < 2_000_000


def test_interrupts_between_cpus_arrive_without_delay(
    guest: Architecture, images: Path, tmp_path: Path
) -> None:
    done = run(guest, images, tmp_path, "relay")
    assert min(done.each("pokes")) == 200
    assert max(done.each("worst")) < CPUS * 200


@pytest.mark.parametrize("name", ["sleeps", "shootdown"])
def test_a_run_repeats_bit_for_bit(guest: Architecture, images: Path, tmp_path: Path, name: str) -> None:
    first, second = (run(guest, images, tmp_path, name) for _ in range(2))
    assert first.repeatable == second.repeatable
