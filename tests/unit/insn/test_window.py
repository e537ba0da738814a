"""The window from the marks, and the reports of a guest that contradict the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.insn.log import ClockLog, ClockMark
from benchgate.insn.plugin import c_file
from benchgate.insn.window import CALM, agree, between_marks, window

GOOD = ((3, 0, 1_000), (1, 0, 2_000), (1, 1, 2_100), (2, 1, 90_000), (2, 0, 92_000), (4, 0, 93_000))

NS = 1_000_000_000


def log(marks: Sequence[tuple[int, int, int]]) -> ClockLog:
    return ClockLog(
        seed=0,
        quantum=100,
        fine=10,
        rush=2,
        vcpus=2,
        api=(3, 2, 4),
        marks=tuple(ClockMark(*mark) for mark in marks),
    )


def report(worker: int, cpu: int, start: int, end: int, *, cpu_end: int | None = None) -> WorkerReport:
    return WorkerReport(worker, cpu, cpu if cpu_end is None else cpu_end, start, end, {})


def test_the_window_is_from_the_first_begin_to_the_last_end() -> None:
    seen = window(log(GOOD), 2)
    assert (seen.work, seen.total) == (90_000, 92_000)
    assert [mark.vcpu for mark in seen.begins] == [0, 1]


@pytest.mark.parametrize(
    ("marks", "workers", "why"),
    [
        (GOOD[1:], 2, "missing marks: 0 total-begin"),
        (GOOD[:-1], 2, "missing marks: 0 total-end"),
        (GOOD, 3, "missing marks: 2 work-begin"),
        (GOOD, 1, "duplicate marks: 2 work-begin"),
        ((*GOOD, (4, 0, 99_000)), 2, "duplicate marks: 2 total-end"),
        ((*GOOD[:2], (9, 1, 2_050), *GOOD[2:]), 2, "unknown mark .kind 0x09. on vCPU 1"),
        ((), 2, "missing marks"),
        ((GOOD[1], GOOD[0], *GOOD[2:]), 2, "work-begin outside the total window"),
        ((*GOOD[:4], GOOD[5], GOOD[4]), 2, "ends while 1 workers run"),
        ((GOOD[0], GOOD[3], *GOOD[1:3], *GOOD[4:]), 2, "work-end before its work-begin"),
        ((GOOD[0], (1, 0, 95_000), (1, 1, 95_000), *GOOD[3:]), 2, "empty"),
        (((3, 0, 8_000), *GOOD[1:]), 2, "does not enclose"),
        ((*GOOD[:-1], (4, 0, 80_000)), 2, "does not enclose"),
    ],
)
def test_missing_duplicate_unknown_and_misplaced_marks_are_refused(
    marks: Sequence[tuple[int, int, int]], workers: int, why: str
) -> None:
    with pytest.raises(VerifyError, match=why):
        window(log(marks), workers)


def test_times_within_the_lockstep_slack_are_accepted() -> None:
    seen = window(log(((3, 0, 2_150), *GOOD[1:])), 2)
    assert seen.total_begin == seen.work_begin == 2_000


def test_without_rush_the_slack_is_the_largest_quantum() -> None:
    """The quantum of 100 ns may have grown to 800, at each end of the window."""
    close = replace(log(((3, 0, 3_500), *GOOD[1:])), rush=1)
    assert window(close, 2).total_begin == 2_000
    with pytest.raises(VerifyError, match="does not enclose"):
        window(replace(close, marks=(ClockMark(3, 0, 3_700), *close.marks[1:])), 2)


def test_the_largest_growth_of_a_quantum_equals_the_one_in_c() -> None:
    header = c_file("lockstep.h").read_text(encoding="utf-8")
    assert f"#define LOCKSTEP_CALM {CALM}\n" in header


def test_a_report_that_agrees_with_the_clock_is_accepted() -> None:
    agree(
        window(log(GOOD), 2),
        [report(0, 0, 500, 90_500), report(1, 1, 600, 88_000)],
        hz=NS,
        total=92_000,
    )


def test_a_report_with_other_cpus_is_refused() -> None:
    reports = [report(0, 0, 500, 90_500), report(1, 0, 600, 88_000)]
    with pytest.raises(VerifyError, match="began on CPUs"):
        agree(window(log(GOOD), 2), reports, hz=NS, total=92_000)
    reports[1] = report(1, 1, 600, 88_000, cpu_end=0)
    with pytest.raises(VerifyError, match="ended on CPUs"):
        agree(window(log(GOOD), 2), reports, hz=NS, total=92_000)


def test_a_guest_clock_that_does_not_follow_instructions_is_refused() -> None:
    reports = [report(0, 0, 0, 300_000), report(1, 1, 0, 300_000)]
    with pytest.raises(VerifyError, match="does not follow its instructions"):
        agree(window(log(GOOD), 2), reports, hz=NS, total=92_000)
    agree(window(log(GOOD), 2), reports, hz=None, total=92_000)


def test_a_guest_that_counts_cycles_is_compared_by_its_hz() -> None:
    """So on the instruction clock a guest cannot change its lengths in ns by saying another hz."""
    reports = [report(0, 0, 1_000, 181_000), report(1, 1, 1_200, 176_000)]
    agree(window(log(GOOD), 2), reports, hz=2 * NS, total=184_000)
    with pytest.raises(VerifyError, match="timed the work at 360000 ns"):
        agree(window(log(GOOD), 2), reports, hz=NS // 2, total=46_000)


def test_a_worker_may_start_and_end_in_one_tick_if_its_marks_are_near() -> None:
    """As of a worker that found all work done by others: its clock read the same twice."""
    short = ((3, 0, 1_000), (1, 0, 2_000), (1, 1, 2_100), (2, 1, 2_172), (2, 0, 400_000), (4, 0, 401_000))
    reports = [report(0, 0, 500, 398_500), report(1, 1, 600, 600)]
    agree(window(log(short), 2), reports, hz=NS, total=400_000)
    long = window(log((*short[:3], (2, 1, 302_100), *short[4:])), 2)
    for hz in (NS, None):
        with pytest.raises(VerifyError, match=r"worker 1 .* at 600, .* counted 300000 ns .* stood still"):
            agree(long, reports, hz=hz, total=400_000)


def test_the_total_that_the_guest_timed_is_compared_with_the_clock() -> None:
    reports = [report(0, 0, 500, 90_500), report(1, 1, 600, 88_000)]
    with pytest.raises(VerifyError, match="timed the total at 200000 ns"):
        agree(window(log(GOOD), 2), reports, hz=NS, total=200_000)


# ---- the marks of programs that print nothing of their workers


@pytest.mark.parametrize(
    ("marks", "window"),
    [
        (GOOD, (2_000, 92_000)),
        (GOOD[:1] + GOOD[-1:], (1_000, 93_000)),
        (((1, 0, 5), (2, 1, 7), (1, 0, 20), (2, 0, 40)), (5, 40)),
    ],
)
def test_marks_of_the_work_count_before_those_of_the_total(
    marks: Sequence[tuple[int, int, int]], window: tuple[int, int]
) -> None:
    assert between_marks(log(marks)) == window


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        ((), "saw 0 marks work-begin and 0 of work-end"),
        (GOOD[:4], "saw 2 marks work-begin and 1 of work-end"),
        (((3, 0, 5),), "saw 1 marks total-begin and 0 of total-end"),
        (((1, 0, 50), (2, 0, 50)), "the window is empty"),
    ],
)
def test_marks_that_make_no_window_are_refused(marks: Sequence[tuple[int, int, int]], why: str) -> None:
    with pytest.raises(VerifyError, match=why):
        between_marks(log(marks))
