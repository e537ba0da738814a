"""Exploration on the instruction clock, under guests without a kernel: each strategy stalls vCPUs, the books
have the time, and the list of the stalls makes the same run again, bit for bit.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.exploration import FILE, Exploration, StallPoint, Strategy, usual
from benchgate.base.system.arch import Architecture
from benchgate.insn.explore_log import StallLog
from benchgate.insn.log import ClockLog
from benchgate.insn.plugin import build
from benchgate.judge.checks.balance import check_balance
from tests.barekit import GOOD, GUESTS, NAMED, kernel
from tests.barekit import boot as boot_virt
from tests.guests.test_insn_bare import boot, guest
from tests.guests.test_insn_memory import shape_file
from tests.machines import PATIENCE_S
from tools.clock_lab import light_lab as lab

__all__ = ("guest",)
CASE, CPUS = "shootdown", 3
"""CPU 0 interrupts the others again and again, and waits for each answer."""
RANDOM = [one for one in Strategy if one not in (Strategy.PLACE, Strategy.POINTS)]


def chosen(strategy: Strategy) -> Exploration:
    return usual(strategy, 11, steps=200)


def of(log: ClockLog) -> StallLog:
    assert log.explored is not None
    return log.explored


def same(log: ClockLog) -> tuple[object, ...]:
    """Everything that repeats, but for the name of the strategy."""
    seen = of(log)
    assert log.activity is not None
    return (log.totals, log.end, dict(log.checks), log.activity.repeatable, seen.delays, seen.steps)


class Runs:
    """Boots with explorations, each in a folder of its own."""

    def __init__(self, image: Path, folder: Path) -> None:
        self.image, self.folder, self.count = image, folder, 0

    def __call__(self, exploration: Exploration | None, shape: Path | None = None) -> tuple[str, ClockLog]:
        self.count += 1
        place = self.folder / str(self.count)
        place.mkdir()
        if exploration is not None:
            (place / FILE).write_text(exploration.text)
        result = boot(
            self.image, place, CASE, CPUS, explore=place / FILE if exploration else None, shape=shape
        )
        assert result.status == 33, result.console
        return result.console, result.log


@pytest.fixture(scope="module")
def runs(guest: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(guest, tmp_path_factory.mktemp("explored"))


@pytest.mark.parametrize("strategy", RANDOM)
def test_the_stalls_of_a_strategy_make_its_run_again_bit_for_bit(runs: Runs, strategy: Strategy) -> None:
    console, log = runs(chosen(strategy))
    seen = of(log)
    assert seen.made == len(seen.delays) > 5
    assert len({delay.vcpu for delay in seen.delays}) > 1
    check_balance(log)
    delayed = [sum(delay.ns for delay in seen.delays if delay.vcpu == c) for c in range(CPUS)]
    assert [total.delayed for total in log.totals] == delayed
    assert all(delay.pc and delay.time <= log.totals[delay.vcpu].time for delay in seen.delays)
    again, other = runs(chosen(strategy).at_points(delay.point for delay in seen.delays))
    assert (again, same(other)) == (console, same(log))
    check_balance(other)


def test_stalls_at_a_place_come_before_that_instruction_only_and_repeat(runs: Runs) -> None:
    met = Counter(delay.pc for delay in of(runs(chosen(Strategy.SYNC))[1]).delays)
    ((pc, _),) = met.most_common(1)
    placed = chosen(Strategy.SYNC).at_places([pc], seed=11, one_in=2, shortest=200, longest=2_000)
    console, log = runs(placed)
    seen = of(log)
    assert {delay.pc for delay in seen.delays} == {pc}
    assert 1 < len(seen.delays) < (seen.steps or 0)
    check_balance(log)
    again, other = runs(placed.at_points(delay.point for delay in seen.delays))
    assert (again, other.totals, other.end, of(other).delays) == (console, log.totals, log.end, seen.delays)


def test_on_a_machine_with_memory_stalls_are_in_its_books_and_repeat(runs: Runs, tmp_path: Path) -> None:
    shape = shape_file(tmp_path, CPUS)
    console, log = runs(chosen(Strategy.SYNC), shape)
    check_balance(log)
    assert log.memory is not None
    assert sum(cpu.spent.delayed for cpus in log.memory.phases.values() for cpu in cpus) > 10_000
    again, other = runs(chosen(Strategy.SYNC).at_points(delay.point for delay in of(log).delays), shape)
    assert (again, same(other), other.memory) == (console, same(log), log.memory)


def test_no_stall_and_probes_change_nothing_that_a_plain_run_shows(runs: Runs) -> None:
    console, plain = runs(None)
    none = chosen(Strategy.SYNC).at_points(())
    still_console, still = runs(none)
    assert (still_console, still.end, dict(still.checks)) == (console, plain.end, dict(plain.checks))
    assert [replace(total, delayed=0) for total in still.totals] == list(plain.totals)
    assert of(still).steps == of(runs(chosen(Strategy.SYNC).at_points([StallPoint(0, 900, 0)]))[1]).steps
    probes = [StallPoint(vcpu, 900 + 10 * n, 0) for vcpu in range(CPUS) for n in range(20)]
    probed_console, probed = runs(none.at_points(probes))
    assert (probed_console, probed.totals, probed.end) == (console, still.totals, still.end)
    delays = of(probed).delays
    assert len(delays) == len(probes)
    assert {delay.pc for delay in delays} > {delays[0].pc}
    assert all(
        0 <= delay.instruction - point.instruction < 50
        for delay, point in zip(
            sorted(delays, key=lambda delay: (delay.vcpu, delay.instruction)), probes, strict=True
        )
    )


def test_one_stall_moves_one_vcpu_by_exactly_its_length(runs: Runs) -> None:
    point = StallPoint(1, 2000, 40_000)
    _, log = runs(chosen(Strategy.SYNC).at_points([point]))
    (made,) = of(log).delays
    assert (made.vcpu, made.ns) == (1, 40_000)
    assert [total.delayed for total in log.totals] == [0, 40_000, 0]


def test_a_file_of_another_guest_is_refused_by_name(guest: Path, tmp_path: Path) -> None:
    wrong = chosen(Strategy.SYNC).at_points([StallPoint(CPUS, 1, 1)])
    (tmp_path / FILE).write_text(wrong.text)
    argv, environment = lab(marked=False, explore=tmp_path / FILE).line(CPUS, tmp_path / "clock.log", seed=7)
    done = subprocess.run(
        [*argv, "-kernel", str(guest)], env=environment, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode != 0
    assert b"a point is of a vCPU that the guest does not have" in done.stderr
    plugin = build(2)
    argv[argv.index("-plugin") + 1] = f"{plugin},out={tmp_path / 'log'},explore={tmp_path / FILE}"
    old = subprocess.run(
        argv,
        env={**environment, "LD_PRELOAD": str(plugin)},
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert b"exploration needs QEMU 9.1 or newer" in old.stderr


@pytest.mark.parametrize("name", ["shootdown", "relay"])
@pytest.mark.parametrize("virt", GUESTS, ids=str)
def test_other_architectures_explore_too(virt: Architecture, name: str, tmp_path: Path) -> None:
    """The CPUs that take hundreds of interrupts are stalled, whatever the seed and the compiler. In
    `shootdown` CPU 0 takes none, and synchronises only at its start and its end: it may meet no stall."""
    image, exploration = kernel(virt, tmp_path), replace(chosen(Strategy.SYNC), one_in=5)
    (tmp_path / FILE).write_text(exploration.text)
    first = boot_virt(virt, image, tmp_path, NAMED[name], 2, explore=tmp_path / FILE)
    seen = of(first.log)
    assert first.status == GOOD, first.console + first.errors
    interrupted = {vcpu for vcpu, pokes in enumerate(first.each("pokes")) if pokes}
    assert {delay.vcpu for delay in seen.delays} >= interrupted == ({1} if name == "shootdown" else {0, 1})
    check_balance(first.log)
    (tmp_path / FILE).write_text(exploration.at_points(delay.point for delay in seen.delays).text)
    again = boot_virt(virt, image, tmp_path, NAMED[name], 2, explore=tmp_path / FILE)
    assert (again.console, same(again.log)) == (first.console, same(first.log))
