"""Computes the timed window from the marks, and checks every mark. Pure.

Takes a `ClockLog` and the number of workers; gives a `ClockWindow`. Raises VerifyError if a mark is missing,
duplicated, unknown or out of order, or if the guest's own report contradicts the clock.

The order of the lines is the order of execution, because the plugin logs a mark when it is executed. The
times of different vCPUs may differ by what the lockstep allows, so they are not used to judge order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from benchgate.base.errors import VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.insn.log import ClockLog, ClockMark, MarkKind

AGREEMENT = 0.005
"""The largest difference of the guest's own timing from the clock's, as a fraction of the window."""
AGREEMENT_NS = 100_000
"""The smallest such tolerance: each end may be off by a quantum, and reading the clock takes time."""

CALM = 8
"""The largest factor by which a quantum may grow (LOCKSTEP_CALM in c/clock/lockstep.h)."""


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
    begins: tuple[ClockMark, ...]
    ends: tuple[ClockMark, ...]

    @property
    def work(self) -> int:
        return self.work_end - self.work_begin

    @property
    def total(self) -> int:
        return self.total_end - self.total_begin


def window(log: ClockLog, workers: int) -> ClockWindow:
    """The timed window of this run."""
    if log.problem:
        raise VerifyError(log.problem)
    if unknown := [mark for mark in log.marks if mark.kind not in _NAMES]:
        cause = "something in the guest executes bytes that look like marks"
        raise VerifyError(f"unknown mark (kind {unknown[0].kind:#04x}) on vCPU {unknown[0].vcpu}: {cause}")
    _count(log.marks, workers)
    _order(log.marks)
    begins = tuple(mark for mark in log.marks if mark.kind == MarkKind.WORK_BEGIN)
    ends = tuple(mark for mark in log.marks if mark.kind == MarkKind.WORK_END)
    first, last = min(mark.time for mark in begins), max(mark.time for mark in ends)
    if first >= last:
        why = "the last work-end mark is not after the first work-begin"
        raise VerifyError(f"the work window is empty: {why}")
    times = {mark.kind: mark.time for mark in log.marks}
    total_begin, total_end = times[MarkKind.TOTAL_BEGIN], times[MarkKind.TOTAL_END]
    slack = _slack(log)
    if total_begin > first + slack or total_end < last - slack:
        raise VerifyError("the total window does not enclose the work window on the instruction clock")
    # Within the slack the total window is widened, so that it always encloses the work window.
    return ClockWindow(first, last, min(total_begin, first), max(total_end, last), begins, ends)


def between_marks(log: ClockLog) -> tuple[int, int]:
    """The guest times, in ns, of the first begin and the last end of the work if its marks were executed,
    else of the total. This is for programs that print nothing about their workers."""
    kinds = [mark.kind for mark in log.marks]
    pairs = ((MarkKind.WORK_BEGIN, MarkKind.WORK_END), (MarkKind.TOTAL_BEGIN, MarkKind.TOTAL_END))
    begin, end = next((pair for pair in pairs if pair[0] in kinds), pairs[0])
    if not kinds.count(begin) or kinds.count(begin) != kinds.count(end):
        raise VerifyError(
            f"the instruction clock saw {kinds.count(begin)} marks {_NAMES[begin]} and {kinds.count(end)} of "
            f"{_NAMES[end]}: the program must execute as many of each, at least one (guest/bench.h)"
        )
    first = min(mark.time for mark in log.marks if mark.kind == begin)
    last = max(mark.time for mark in log.marks if mark.kind == end)
    if last <= first:
        raise VerifyError("the window is empty: its last mark is not after its first one")
    return first, last


def _slack(log: ClockLog) -> int:
    """The most ns by which the times of two vCPUs' marks may contradict their order in the log."""
    return 2 * log.quantum * max(log.rush, CALM)


def _count(marks: Iterable[ClockMark], workers: int) -> None:
    found = Counter(mark.kind for mark in marks)
    wanted = {MarkKind.TOTAL_BEGIN: 1, MarkKind.WORK_BEGIN: workers}
    wanted |= {MarkKind.WORK_END: workers, MarkKind.TOTAL_END: 1}
    for kind, count in wanted.items():
        if found[kind] != count:
            what = "missing" if found[kind] < count else "duplicate"
            due = f"expected {count} for {workers} workers"
            raise VerifyError(f"{what} marks: {found[kind]} {_NAMES[kind]} on the instruction clock, {due}")


def _order(marks: Iterable[ClockMark]) -> None:
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
            raise VerifyError("marks out of order: work-end before its work-begin")
        if closed and running:
            raise VerifyError(f"marks out of order: the total window ends while {running} workers run")


def agree(seen: ClockWindow, reports: Iterable[WorkerReport], *, hz: int | None, total: int) -> None:
    """Compares the guest's own report with the clock; raises VerifyError if they contradict each other.

    CPUs are always compared, and workers that say that they ended when they started. Other times are compared
    only if the guest said how many of its unit, `hz`, are a second. `total` is the total window as the
    guest timed it.
    """
    workers = tuple(reports)
    began = "began", seen.begins, [report.cpu for report in workers]
    ended = "ended", seen.ends, [report.cpu_end for report in workers]
    for what, marks, cpus in (began, ended):
        marked = Counter(mark.vcpu for mark in marks)
        if marked != Counter(cpus):
            found_on = f"the marks were executed on vCPUs {sorted(marked.elements())}"
            raise VerifyError(f"the guest reports that workers {what} on CPUs {sorted(cpus)}, but {found_on}")
    _took_no_time(seen, workers)
    if hz is None or not workers:
        return
    work = max(report.end for report in workers) - min(report.start for report in workers)
    for what, length, counted in (("work", work, seen.work), ("total", total, seen.total)):
        reported = length * SECOND_NS // hz
        if abs(reported - counted) > max(AGREEMENT_NS, AGREEMENT * counted):
            raise VerifyError(
                f"the guest timed the {what} at {reported} ns, the instruction clock at {counted} ns: the "
                "guest's clock does not follow its instructions"
            )


def _took_no_time(seen: ClockWindow, workers: Iterable[WorkerReport]) -> None:
    """A worker with little to do may start and end in one tick of its clock; then its marks are near."""
    for report in workers:
        if report.start != report.end:
            continue
        begins = [mark.time for mark in seen.begins if mark.vcpu == report.cpu]
        ends = [mark.time for mark in seen.ends if mark.vcpu == report.cpu_end]
        least = min((end - begin for begin in begins for end in ends if end >= begin), default=0)
        if least > AGREEMENT_NS:
            raise VerifyError(
                f"worker {report.id} reports that it ended when it started, at {report.start}, but the "
                f"instruction clock counted {least} ns between its marks: the guest's clock stood still"
            )
