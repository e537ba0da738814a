"""Times the lines of a console by the instruction clock, and compares a kernel's own figures with it. Pure.

Takes the clock's log, the console and the guest's output; gives windows from one line to another, with the
vCPU that the row counts and that did no work meanwhile. Fails with VerifyError if the clock contradicts a
figure: it is not the time from the line with which it begins to its own, or the vCPUs did not run so long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from benchgate.base import console_text
from benchgate.base.errors import VerifyError
from benchgate.base.runs import CpuUse, OutsideUse
from benchgate.base.statistics.stats import Interval
from benchgate.base.system.results import LineWindow, MarkWindow, ResultPattern, WindowSource
from benchgate.base.workload.metrics import time_text
from benchgate.insn.log import ClockLog, ConsoleLine, LateSightings, VcpuWork
from benchgate.insn.window import between_marks
from benchgate.judge.console import patterns
from benchgate.judge.console.bench_lines import Operation, Operations
from benchgate.judge.console.output import GuestOutput
from benchgate.judge.console.patterns import PrintedFigure
from benchgate.judge.cpu_use import LEAST_SHARE, of_lines

AGREEMENT = 0.005
"""A figure may differ from the time between its lines by this share of that time. It must cover the printing
of the figure, its rounding and the guest's calibration of its clock. There is no least tolerance in ns: in a
short window that would be a large share of the figure."""
LEAST_PART = 0.1
"""The part of the time between two lines that an operation must have had. Of a short one, printing its line
is the larger part."""


@dataclass(frozen=True)
class ConsoleClock:
    """The lines of a console, numbered from 0, and the clock's record of each."""

    log: ClockLog
    console: bytes
    output: GuestOutput
    """The output has the same lines as the console."""

    def check_vcpus(self, cpus: int) -> None:
        if self.log.vcpus != cpus:
            raise VerifyError(
                f"the row counts {cpus} CPUs, but the instruction clock had {self.log.vcpus} vCPUs"
            )

    def checked(self, what: str, pattern: ResultPattern, figure: PrintedFigure) -> PrintedFigure:
        """The figure is in ns, or in cycles of the instruction clock's TSC, which are ns too."""
        begin, end = self.lines(what, pattern)
        _check_duration(what, figure, begin, end)
        return replace(figure, late=_late(begin, end), unused=_unused(what, figure.value, begin, end))

    def between_lines(self, what: str, window: LineWindow) -> PrintedFigure:
        """The guest time from one line to another."""
        begin, end = self.lines(what, window)
        return _exact(what, end.time - begin.time, begin, end)

    def between_marks(self, what: str) -> PrintedFigure:
        """The guest time between the marks that the guest's programs executed. Each vCPU should have worked
        between the lines before and after them."""
        first, last = between_marks(self.log)
        begin, end = self.lines(what, MarkWindow())
        return _exact(what, last - first, begin, end)

    def lines(self, what: str, window: WindowSource) -> tuple[ConsoleLine, ConsoleLine]:
        """What the clock knew at the lines with which a window begins and ends; of one between marks, at the
        last line before them and the first one after them."""
        if isinstance(window, MarkWindow):
            return self._lines_around_marks(what)
        if isinstance(window, ResultPattern):
            first, last = patterns.figure_lines(self.output, what, window)
            return self.record(first), self.record(last)
        text = self.output.text
        last = patterns.line_of(text, patterns.only(text, window.ends, f"{what}.to"))
        first = patterns.first_line(self.output, window.begins, f"{what}.from", last)
        begin, end = self.record(first), self.record(last)
        if first >= last or begin.time >= end.time:
            raise VerifyError(
                f"{what}: the window begins with line {first + 1} of the console and ends with line "
                f"{last + 1}: correct `from` and `to` in `result.{what}`"
            )
        return begin, end

    def _lines_around_marks(self, what: str) -> tuple[ConsoleLine, ConsoleLine]:
        first, last = between_marks(self.log)
        self.check()
        before = [line for line in self.log.lines if line.time <= first]
        after = [line for line in self.log.lines if line.time >= last]
        if not before or not after:
            raise VerifyError(
                f"{what}: the guest must print a line before its first mark and after its last one"
            )
        return before[-1], after[0]

    def outside(
        self, window: tuple[ConsoleLine, ConsoleLine], length: int, answered: int | None
    ) -> OutsideUse:
        """Gives what was executed from the line before the typed one to the window's begin, and from its end
        to the line number `answered`, the last answer. The boot, which takes longer with more CPUs, comes
        before a typed line; if no line is typed, only the second part is known. All that lies between the two
        lines and not in the window, which is `length` long, may have been work."""
        begin, end = window
        typed = [line for line in self.output.typed if self.record(line).end <= begin.end]
        first = begin
        if typed:
            idle = ConsoleLine(0, 0, (VcpuWork(),) * len(begin.vcpus))
            first = self.record(typed[-1] - 1) if typed[-1] else idle
        last = end if answered is None else self.record(answered)
        around = max(0, end.time - begin.time - length)
        parts = (first, begin), (end, max(end, last, key=lambda line: line.end))
        work, polls = ([_executed(*part)[which] for part in parts] for which in (0, 1))
        inside_work, inside_polls = map(sum, _executed(begin, end))
        return OutsideUse(
            busiest=sum(map(max, work)) + around,
            together=sum(map(sum, work)) + around * len(begin.vcpus),
            inside=inside_work + inside_polls,
            polled=sum(map(sum, polls)),
            polled_inside=inside_polls,
        )

    def span(self, begin: ConsoleLine, end: ConsoleLine) -> tuple[int, int]:
        """How many bytes the console had at the end of each of two lines."""
        if begin.end >= end.end:
            raise VerifyError(
                f"the clock logged no line between bytes {begin.end} and {end.end} of the console"
            )
        return begin.end, end.end

    def check_operations(self, operations: Operations) -> None:
        """Each operation took the time that passed between its line and the one before it: not more, and not
        much less, although the program may prepare something first and prints the line itself."""
        for name, operation in operations.measured.items():
            passed = self.record(operation.line).time - self.record(operation.after).time
            if not LEAST_PART * passed <= operation.total_ns <= (1 + AGREEMENT) * passed:
                raise VerifyError(
                    f"{name}: the guest claims {operation.total_ns} ns, but on the instruction clock "
                    f"{passed} ns passed since the line before, and at least {LEAST_PART:.0%} of that must "
                    "be the operation's"
                )

    def late_in(self, operations: Iterable[Operation]) -> LateSightings | None:
        """What vCPUs saw too late during these operations together."""
        found = [_late(self.record(operation.after), self.record(operation.line)) for operation in operations]
        known = [sightings for sightings in found if sightings is not None]
        if len(known) < len(found):
            return None
        return LateSightings(
            sum(sightings.handovers for sightings in known), sum(sightings.late for sightings in known)
        )

    def used(self, window: tuple[ConsoleLine, ConsoleLine], length: int) -> CpuUse:
        """How many CPUs were used in a window of this length between two lines."""
        return of_lines(*window, length, is_exact=not (self.log.machine or self.log.capacities))

    def used_by(self, listed: Sequence[Operation]) -> CpuUse:
        """Gives the CPUs that were used in the windows of these operations together."""
        length = sum(operation.total_ns for operation in listed)
        parts = []
        for operation in listed:
            window = self.record(operation.after), self.record(operation.line)
            parts.append((operation.total_ns / length, self.used(window, operation.total_ns)))
        awake = _weighed([(share, use.awake) for share, use in parts])
        worked = [(share, use.worked) for share, use in parts if use.worked]
        return CpuUse(awake, _weighed(worked) if len(worked) == len(parts) else None)

    @cached_property
    def _records(self) -> Mapping[int, ConsoleLine]:
        """A line that ends with a lone carriage return has none."""
        self.check()
        known = {line.end: line for line in self.log.lines}
        ends = enumerate(console_text.line_ends(self.console))
        return {number: known[end] for number, end in ends if end in known}

    def check(self) -> None:
        if not self.log.lines:
            raise VerifyError("the instruction clock recorded no line of the console")
        last = self.log.lines[-1]
        ends = {self.console[line.end - 1 : line.end] for line in self.log.lines[:-1]}
        if last.end > len(self.console) or ends - {b"\n"}:
            raise VerifyError("the instruction clock recorded other lines than those of the console")

    def record(self, number: int) -> ConsoleLine:
        """What the clock knew when this line ended, or else the first one after it."""
        result = min((at for at in self._records if at >= number), default=None)
        last = self.log.lines[-1]
        if result is None and last.end < len(self.console):
            raise VerifyError(
                f"the instruction clock recorded {len(self.log.lines)} lines of the console, and line "
                f"{number + 1}, which has a figure, is after them: print less"
            )
        return last if result is None else self._records[result]


def _executed(begin: ConsoleLine, end: ConsoleLine) -> tuple[list[int], list[int]]:
    """What each vCPU executed from one line to another: as work, and in the loop in which idle CPUs poll."""
    pairs = list(zip(begin.vcpus, end.vcpus, strict=True))
    polls = [min(after.polled - before.polled, after.worked - before.worked) for before, after in pairs]
    worked = (after.worked - before.worked for before, after in pairs)
    return [total - part for total, part in zip(worked, polls, strict=True)], polls


def _exact(what: str, length: int, begin: ConsoleLine, end: ConsoleLine) -> PrintedFigure:
    return PrintedFigure("ns", length, 0, _late(begin, end), _unused(what, length, begin, end))


def _late(begin: ConsoleLine, end: ConsoleLine) -> LateSightings | None:
    if begin.seen_late is None or end.seen_late is None:
        return None
    return end.seen_late.since(begin.seen_late)


def _weighed(parts: Sequence[tuple[float, Interval]]) -> Interval:
    return Interval(
        math.fsum(share * interval.low for share, interval in parts),
        math.fsum(share * interval.high for share, interval in parts),
    )


def _check_duration(what: str, figure: PrintedFigure, begin: ConsoleLine, end: ConsoleLine) -> None:
    """A figure in coarse steps may be off by one of them, too; its interval is widened by as much."""
    claim, value = f"{what}: the guest claims {figure.value} ns", figure.value
    passed = end.time - begin.time
    step = figure.step if figure.step > AGREEMENT * passed else 0
    if abs(value - passed) > AGREEMENT * passed + step:
        allowed = f"{AGREEMENT:.1%}" + (f" and a step of {step} ns" if step else "")
        raise VerifyError(
            f"{claim}, but on the instruction clock {passed} ns passed from the line of "
            f"`result.{what}.begins` to the figure's own, and they may differ by {allowed}: print the first "
            "just before the timed work and the second just after it; if it is rounded, print more digits or "
            "make the work longer"
        )
    ran = sum(after.ran - before.ran for before, after in zip(begin.vcpus, end.vcpus, strict=True))
    if value - AGREEMENT * value - step > ran:
        raise VerifyError(f"{claim}, but in that time all its vCPUs together ran {ran} ns")


def _unused(what: str, figure: int, begin: ConsoleLine, end: ConsoleLine) -> str:
    """Every CPU that the row counts must have worked. A vCPU that only waits in a loop did not."""
    least = LEAST_SHARE * figure / len(end.vcpus)
    worked = [after.worked - before.worked for before, after in zip(begin.vcpus, end.vcpus, strict=True)]
    idle = {vcpu: done for vcpu, done in enumerate(worked) if done < least}
    if not idle:
        return ""
    names = f"vCPU{'s' if len(idle) > 1 else ''} {', '.join(map(str, idle))}"
    return (
        f"{what}: right answers, but of {len(end.vcpus)} CPUs {names} executed only {max(idle.values())} "
        f"instructions of work in its window of {time_text(figure)}: the threads ran on "
        "the others"
    )
