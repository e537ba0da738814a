"""The instruction clock on RISC-V and AArch64, under a guest without a kernel whose durations are known by
arithmetic.

The guest sets marks only for its own case, and the clock is kept in close step throughout. `nox -s soak` runs
every case at every CPU count.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.system.arch import RISCV64, Architecture
from benchgate.insn.arguments import QUANTUM
from benchgate.insn.counts import OTHERS
from benchgate.insn.support import support
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


def test_the_pinned_qemu_supports_the_clock(guest: Architecture) -> None:
    compiler_for(guest)
    result = support(qemu_for(guest))
    assert result.works, result.reason
    assert "sleep=" in result.reason


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


def test_programs_are_counted_and_their_kernel_is_not(
    guest: Architecture, images: Path, tmp_path: Path
) -> None:
    """Of each CPU, by the numbers in tests/data/bare/cases.c. The kernel makes the same calls and atomic
    additions, and both begin and end of the case are agreed upon by atomic ones."""
    log = run(guest, images, tmp_path, "programs").log
    counts, so_far = log.counts, log.lines[-1].counted
    assert counts is not None
    assert counts.work is not None
    assert so_far is not None
    assert [counted_cpu.calls for counted_cpu in so_far] == [vcpu.calls for vcpu in counts.work.vcpus]
    for cpu, seen in enumerate(counts.work.vcpus):
        assert (seen.calls, seen.requested) == (
            {64: 700 + cpu, 93: 1, OTHERS: 4},
            {64: 10 * (700 + cpu)},
        )
        values = {name: seen.values[name] for name in ("syscalls", "atomics", "spaces", "halts")}
        assert values == {"syscalls": 705 + cpu, "atomics": 300, "spaces": 11, "halts": 5}
        assert seen.values.get("ipis") == (7 if guest is RISCV64 else None)
