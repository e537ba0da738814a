"""Compares the figures that a kernel prints in its own format with what the instruction clock saw. Pure.

Takes the clock's log, the console and the figures; gives nothing. Fails with VerifyError if the clock
contradicts a figure: it is not the time from the line with which it begins to its own, the vCPUs did not run
for so long, or a vCPU that the row counts did no work meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from benchgate.base import console_text
from benchgate.base.errors import VerifyError
from benchgate.base.systems import System
from benchgate.insn.log import ClockLog, ConsoleLine
from benchgate.judge import patterns
from benchgate.judge.bench_lines import Operations
from benchgate.judge.patterns import Figures

AGREEMENT = 0.005
"""A figure may differ from the time between its lines by this share of that time. It must cover the printing
of the figure, its rounding and the guest's calibration of its clock. There is no least tolerance in ns: in a
short window that would be a large share of the figure."""
LEAST_PART = 0.1
"""The part of the time between two lines that an operation must have had. Of a short one, printing its line
is the larger part."""
LEAST_SHARE = 0.1
"""How much of an equal share of its window each vCPU must at least have worked."""


def check_figures(log: ClockLog, console: bytes, cpus: int, system: System, figures: Figures) -> None:
    """The figures are in ns, or in cycles of the instruction clock's TSC, which are ns too."""
    if log.vcpus != cpus:
        raise VerifyError(f"the row counts {cpus} CPUs, but the instruction clock had {log.vcpus} vCPUs")
    lines = _Lines(log, console)
    lines.check()
    parts = (("work", system.result.work, figures.work), ("total", system.result.total, figures.total))
    for what, pattern, figure in parts:
        if pattern is not None and figure is not None:
            begin, end = map(lines.record, patterns.figure_lines(lines.text, what, pattern))
            _check_duration(what, figure, begin, end)
            _check_work(what, figure, begin, end)


def check_operations(log: ClockLog, console: bytes, operations: Operations) -> None:
    """Each operation took the time that passed between its line and the one before it: not more, and not
    much less, although the program may prepare something first and prints the line itself."""
    lines = _Lines(log, console)
    lines.check()
    for name, one in operations.measured.items():
        passed = lines.record(one.line).time - lines.record(one.after).time
        if not LEAST_PART * passed <= one.total_ns <= (1 + AGREEMENT) * passed:
            raise VerifyError(
                f"{name}: the guest claims {one.total_ns} ns, but on the instruction clock {passed} ns "
                f"passed since the line before, and at least {LEAST_PART:.0%} of that must be the operation's"
            )


@dataclass(frozen=True)
class _Lines:
    """The lines of a console, numbered from 0, and the clock's record of each."""

    log: ClockLog
    console: bytes

    @cached_property
    def text(self) -> str:
        return patterns.plain(self.console)

    @cached_property
    def records(self) -> dict[int, ConsoleLine]:
        """A line that ends with a lone carriage return has none."""
        known = {line.end: line for line in self.log.lines}
        ends = enumerate(console_text.line_ends(self.console))
        return {number: known[end] for number, end in ends if end in known}

    def check(self) -> None:
        if not self.log.lines:
            raise VerifyError("the instruction clock recorded no line of the console")
        last = self.log.lines[-1]
        if last.end > len(self.console) or any(
            self.console[line.end - 1 : line.end] != b"\n" for line in self.log.lines[:-1]
        ):
            raise VerifyError("the instruction clock recorded other lines than those of the console")

    def record(self, number: int) -> ConsoleLine:
        """What the clock knew when this line ended, or else the first one after it."""
        found = min((at for at in self.records if at >= number), default=None)
        last = self.log.lines[-1]
        if found is None and last.end < len(self.console):
            raise VerifyError(
                f"the instruction clock recorded {len(self.log.lines)} lines of the console, and line "
                f"{number + 1}, which has a figure, is after them: print less"
            )
        return last if found is None else self.records[found]


def _check_duration(what: str, figure: int, begin: ConsoleLine, end: ConsoleLine) -> None:
    claim = f"{what}: the guest claims {figure} ns"
    passed = end.time - begin.time
    if abs(figure - passed) > AGREEMENT * passed:
        raise VerifyError(
            f"{claim}, but on the instruction clock {passed} ns passed from the line of "
            f"`result.{what}.begins` to the figure's own, and they may differ by {AGREEMENT:.1%}: print the "
            "first just before the timed work and the second just after it; if it is rounded, print more "
            "digits or make the work longer"
        )
    ran = sum(after.ran - before.ran for before, after in zip(begin.vcpus, end.vcpus, strict=True))
    if figure - AGREEMENT * figure > ran:
        raise VerifyError(f"{claim}, but in that time all its vCPUs together ran {ran} ns")


def _check_work(what: str, figure: int, begin: ConsoleLine, end: ConsoleLine) -> None:
    """Every CPU that the row counts must have worked. A vCPU that only waits in a loop did not."""
    least = LEAST_SHARE * figure / len(end.vcpus)
    for vcpu, (before, after) in enumerate(zip(begin.vcpus, end.vcpus, strict=True)):
        worked = after.worked - before.worked
        if worked < least:
            raise VerifyError(
                f"{what}: the row counts {len(end.vcpus)} CPUs and its window is {figure} ns long, but vCPU "
                f"{vcpu} executed only {worked} instructions of work until the guest printed that figure"
            )
