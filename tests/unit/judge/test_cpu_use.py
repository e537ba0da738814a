"""How many CPUs a run used, by the clock's columns, by lines of the console, by threads and by reports."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Mode
from benchgate.base.runs import CpuUse, WorkerReport
from benchgate.base.statistics.stats import Interval
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.base.workload.workloads import Workload
from benchgate.insn.activity import Activity, Column
from benchgate.insn.log import ConsoleLine, VcpuWork
from benchgate.judge import cpu_use

PURE = Workload("pure", Mode.THREAD, Path("w.yaml"), Path("w.c"), Path("o.py"), {})
PARKS = replace(PURE, needs=("park",))
BUSY, SPINS, HALTED = Column(1.0, 0.0), Column(0.25, 0.75), Column(0.0, 0.0)


def activity(*vcpus: tuple[Column, ...]) -> Activity:
    """Columns of 100 ns, from 1000 on."""
    return Activity(1000, 1000 + 100 * len(vcpus[0]), 100, vcpus)


def test_a_halted_vcpu_is_not_used_and_one_that_waits_in_a_loop_is_awake() -> None:
    seen = activity((BUSY,) * 4, (SPINS,) * 4, (HALTED,) * 4)
    assert cpu_use.of_activity(seen, 1000, 1400) == CpuUse(Interval(2.0, 2.0), Interval(1.25, 1.25))


def test_a_column_that_is_partly_in_the_window_may_have_had_its_work_in_either_part() -> None:
    """30 of the first column's 60 ns fit into the window, and 60 fit outside."""
    seen = activity((Column(0.6, 0.0), BUSY))
    used = cpu_use.of_activity(seen, 1070, 1200)
    assert used.awake == Interval(100 / 130, 130 / 130)


def test_a_worker_was_perhaps_where_a_column_is_rounded_down() -> None:
    """Half of a 255th of the column are 100 ns, a tenth of 1,000."""
    seen = Activity(0, 51_000, 51_000, ((BUSY,), (HALTED,)))
    for length, is_refuted in ((28, False), (120, False), (1_001, True)):
        claims = [report(0, 0, 0, 50_000), report(1, 1, 1, length)]
        awake = cpu_use.awake_at_most(seen, 0, 51_000)
        assert bool(cpu_use.refuted(claims, PURE, awake, SECOND_NS)) is is_refuted


def line(end: int, time: int, *vcpus: tuple[int, int]) -> ConsoleLine:
    return ConsoleLine(end, time, tuple(VcpuWork(*vcpu) for vcpu in vcpus))


def test_between_lines_no_vcpu_was_at_work_for_longer_than_the_window() -> None:
    """100 ns lie between the lines, and 90 are the window."""
    begin, end = line(1, 1000, (500, 500), (7, 7)), line(2, 1100, (600, 600), (47, 27))
    used = cpu_use.of_lines(begin, end, 90, is_exact=True)
    assert used == CpuUse(Interval(120 / 90, 130 / 90), Interval(100 / 90, 110 / 90))


def test_on_a_machine_with_memory_lines_do_not_tell_what_was_work() -> None:
    begin, end = line(1, 0, (0, 0)), line(2, 100, (100, 40))
    assert cpu_use.of_lines(begin, end, 100, is_exact=False) == CpuUse(Interval(1.0, 1.0))


def test_a_thread_also_ran_outside_of_the_window() -> None:
    """The host may not have counted the thread's last tick."""
    tick = cpu_use.TICK_NS
    assert cpu_use.of_threads([300 * tick, 19 * tick], 100 * tick) == CpuUse(Interval(0.0, 1.2))


def report(worker: int, cpu: int, cpu_end: int, length: int = 1000) -> WorkerReport:
    return WorkerReport(worker, cpu, cpu_end, 0, length, {})


@pytest.mark.parametrize(
    ("places", "named"),
    [([(0, 0), (0, 0)], 1), ([(0, 0), (1, 1)], 2), ([(0, 0), (0, 1)], 2)],
    ids=["one", "two", "moved"],
)
def test_workers_were_on_the_cpus_that_they_report(places: list[tuple[int, int]], named: int) -> None:
    reports = [report(n, *place) for n, place in enumerate(places)]
    assert cpu_use.of_reports(reports, 2, PURE) == named
    assert cpu_use.of_reports(reports, 2, PARKS) is None  # a worker that parks may wake elsewhere
    assert cpu_use.of_reports(reports, 1, PURE) is None  # they take turns


def test_a_claim_of_two_cpus_while_one_vcpu_ran_is_refuted() -> None:
    claims = [report(0, 0, 0), report(1, 1, 1)]
    assert cpu_use.refuted(claims, PURE, [1000, 100], SECOND_NS) == ""
    assert cpu_use.refuted(claims, PURE, [100, 1000], SECOND_NS) == ""  # the guest numbers its CPUs
    assert cpu_use.refuted(claims, PARKS, [1000, 0], SECOND_NS) == ""
    no_work = [report(0, 0, 0), report(1, 1, 1, 0)]
    assert cpu_use.refuted(no_work, PURE, [1000, 0], SECOND_NS) == ""
    said = "on each of 2 of them for at least 1000 ns, but only 1 vCPU ran for .* the next one for 99 ns"
    assert re.search(said, cpu_use.refuted(claims, PURE, [1000, 99], SECOND_NS))


def test_workers_with_work_on_fewer_cpus_are_crowded() -> None:
    """A tenth of an equal part of 1000 ns is 50 ns."""
    apart, together = [report(0, 0, 0), report(1, 1, 1)], [report(0, 0, 0), report(1, 0, 0)]
    said = "right answers, but 2 workers with work used 1 of 2 CPUs in the window of 1 us"

    def text(
        reports: list[WorkerReport], *awake: float, workload: Workload = PURE, hz: int = SECOND_NS
    ) -> str:
        return cpu_use.crowded(reports, workload, awake, hz, 1000)

    assert text(apart, 1000, 50) == ""
    assert text(apart, 1000, 49).startswith(said)
    assert text(together, 1000, 900).startswith(said)  # the other one polls
    assert text(apart, 1000, 0, workload=PARKS) == ""
    assert text(apart, 1000, 0, 0, 0) == ""  # they need not use all
    late = [report(0, 0, 0), report(1, 0, 0, 99)]
    assert text(late, 1000, 0) == ""
    assert text([report(0, 0, 0), report(1, 0, 0, 100)], 1000, 0).startswith(said)
    assert text([report(0, 0, 0, 2000), report(1, 0, 0, 199)], 1000, 0, hz=2 * SECOND_NS) == ""


def test_a_claim_in_cycles_is_compared_in_ns() -> None:
    claims = [report(0, 0, 0, 2000)]
    assert cpu_use.refuted(claims, PURE, [100], 2 * SECOND_NS) == ""
    assert cpu_use.refuted(claims, PURE, [99], 2 * SECOND_NS)


@pytest.mark.parametrize(("needs", "sleeps"), [((), False), (("park",), False), (("clock", "sleep"), True)])
def test_a_workload_that_sleeps_may_leave_all_cpus_idle(needs: tuple[str, ...], sleeps: bool) -> None:
    assert cpu_use.may_sleep(replace(PURE, needs=needs)) is sleeps
