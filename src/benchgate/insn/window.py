"""From marks to the timed window, with every mark accounted for.

Takes a `ClockLog` and how many workers there were; gives a `ClockWindow`. Raises VerifyError where a mark is
missing, doubled, foreign or out of order, or where the guest's own report tells another story. Pure.

The order of the lines is the order of execution: a mark is written when it is executed. Times of different
vCPUs may be apart by what the lockstep allows, so they are not used to judge order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from benchgate.errors import VerifyError
from benchgate.insn.log import ClockLog, Level, Mark, MarkKind
from benchgate.model import WorkerReport

AGREEMENT = 0.005
"""How far the guest's own timing of the window may be from the clock's, as a share of it ..."""
AGREEMENT_NS = 100_000
"""... or at least this much: the clock may be a quantum ahead for each side, and reading it takes time."""

CALM = 8
"""How many times as long a quantum may become (LOCKSTEP_CALM in c/lockstep.h)."""

_NAMES = {
    MarkKind.WORK_BEGIN: "work-begin",
    MarkKind.WORK_END: "work-end",
    MarkKind.TOTAL_BEGIN: "total-begin",
    MarkKind.TOTAL_END: "total-end",
}


@dataclass(frozen=True, slots=True)
class ClockWindow:
    """The window on the instruction clock, in ns."""

    work_begin: int
    work_end: int
    total_begin: int
    total_end: int
    begins: tuple[Mark, ...]
    ends: tuple[Mark, ...]

    @property
    def work(self) -> int:
        return self.work_end - self.work_begin

    @property
    def total(self) -> int:
        return self.total_end - self.total_begin


def window(log: ClockLog, workers: int) -> ClockWindow:
    """The one window of this run."""
    if log.problem:
        raise VerifyError(log.problem)
    if foreign := [mark for mark in log.marks if mark.kind not in _NAMES]:
        raise VerifyError(
            f"a foreign mark (kind {foreign[0].kind:#04x}) on vCPU {foreign[0].vcpu}: "
            "something in the guest executes bytes that look like marks"
        )
    _count(log.marks, workers)
    _order(log.marks)
    begins = tuple(mark for mark in log.marks if mark.kind == MarkKind.WORK_BEGIN)
    ends = tuple(mark for mark in log.marks if mark.kind == MarkKind.WORK_END)
    first, last = min(mark.time for mark in begins), max(mark.time for mark in ends)
    if first >= last:
        raise VerifyError(
            "the work window is empty: the last work-end mark is not after the first work-begin"
        )
    total_begin, total_end = (
        next(mark.time for mark in log.marks if mark.kind == kind)
        for kind in (MarkKind.TOTAL_BEGIN, MarkKind.TOTAL_END)
    )
    slack = _slack(log)
    if total_begin > first + slack or total_end < last - slack:
        raise VerifyError("the total window does not enclose the work window on the instruction clock")
    # What is left is the lockstep's own slack.
    return ClockWindow(first, last, min(total_begin, first), max(total_end, last), begins, ends)


def _slack(log: ClockLog) -> float:
    """How far apart in time marks of different vCPUs may be that stand in this order in the log.

    At level count a parent that slept comes back at the time of the slowest, whoever woke it: there the order
    is all there is.
    """
    return 2 * log.quantum * max(log.rush, CALM) if log.level is Level.FULL else math.inf


def _count(marks: Iterable[Mark], workers: int) -> None:
    found = Counter(mark.kind for mark in marks)
    wanted = {
        MarkKind.TOTAL_BEGIN: 1,
        MarkKind.WORK_BEGIN: workers,
        MarkKind.WORK_END: workers,
        MarkKind.TOTAL_END: 1,
    }
    for kind, count in wanted.items():
        if found[kind] != count:
            what = "missing" if found[kind] < count else "doubled"
            raise VerifyError(
                f"{what} marks: {found[kind]} {_NAMES[kind]} on the instruction clock, "
                f"{count} expected of {workers} workers"
            )


def _order(marks: Iterable[Mark]) -> None:
    opened = closed = running = 0
    for mark in marks:
        name = _NAMES[MarkKind(mark.kind)]
        if mark.kind == MarkKind.TOTAL_BEGIN:
            opened += 1
        elif not opened or closed:
            raise VerifyError(f"marks out of order: {name} outside the total window")
        elif mark.kind == MarkKind.WORK_BEGIN:
            running += 1
        elif mark.kind == MarkKind.WORK_END:
            running -= 1
        else:
            closed += 1
        if running < 0:
            raise VerifyError("marks out of order: a work-end before its work-begin")
        if closed and running:
            raise VerifyError(f"marks out of order: the total window ends while {running} workers run")


def agree(
    log: ClockLog, seen: ClockWindow, reports: Iterable[WorkerReport], *, unit: str, total: int
) -> None:
    """Holds the guest's own report against the clock; raises VerifyError where they contradict each other.

    CPUs are compared always, times only at level full and in ns: elsewhere the guest's clock is another.
    `total`: the guest's own total window.
    """
    workers = tuple(reports)
    for what, marks, cpus in (
        ("began", seen.begins, [report.cpu for report in workers]),
        ("ended", seen.ends, [report.cpu_end for report in workers]),
    ):
        marked = Counter(mark.vcpu for mark in marks)
        if marked != Counter(cpus):
            raise VerifyError(
                f"the guest says that workers {what} on CPUs {sorted(cpus)}, "
                f"the marks were executed on vCPUs {sorted(marked.elements())}"
            )
    if log.level is not Level.FULL or unit != "ns" or not workers:
        return
    work = max(report.end for report in workers) - min(report.start for report in workers)
    for what, reported, counted in (("work", work, seen.work), ("total", total, seen.total)):
        if abs(reported - counted) > max(AGREEMENT_NS, AGREEMENT * counted):
            raise VerifyError(
                f"the guest timed the {what} at {reported} ns, the instruction clock at {counted} ns: "
                "its clock does not follow the instructions"
            )
