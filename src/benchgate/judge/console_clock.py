"""Compares the figures that a kernel prints in its own format with what the instruction clock saw. Pure.

Takes the clock's log, the console and the figures; gives nothing. Fails with VerifyError if the clock
contradicts a figure: it does not fit between the lines of the console, the vCPUs did not run for so long, or
a vCPU that the row counts did no work meanwhile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from benchgate.base import console_text
from benchgate.base.errors import VerifyError
from benchgate.base.systems import System
from benchgate.insn.log import ClockLog, ConsoleLine, Work
from benchgate.judge import patterns
from benchgate.judge.patterns import Figures

AGREEMENT = 0.005
AGREEMENT_NS = 100_000
"""A figure may be longer than the time between its lines by the larger of both."""
LEAST_SHARE = 0.1
"""How much of an equal share of its window each vCPU must at least have worked."""


def check_figures(log: ClockLog, console: bytes, cpus: int, system: System, figures: Figures) -> None:
    """The figures are in ns, or in cycles of the instruction clock's TSC, which are ns too."""
    if log.vcpus != cpus:
        raise VerifyError(f"the row counts {cpus} CPUs, but the instruction clock had {log.vcpus} vCPUs")
    lines = _Lines(log, console)
    lines.check()
    since, begin = _begin(lines, system)
    parts = (("work", system.result.work, figures.work), ("total", system.result.total, figures.total))
    for what, pattern, figure in parts:
        if pattern is not None and figure is not None:
            end = lines.record(lines.holding(pattern.regex, what))
            _check_fits(f"{what}: the guest claims {figure} ns", figure, begin, end, since)
            _check_work(what, figure, begin, end)


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

    def number(self, match: re.Match[str]) -> int:
        """The line in which a match ends."""
        return self.text.count("\n", 0, match.end() - match[0].endswith("\n"))

    def holding(self, pattern: str, what: str) -> int:
        return self.number(patterns.only(self.text, pattern, what))

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


def _begin(lines: _Lines, system: System) -> tuple[str, ConsoleLine]:
    """The earliest line after which the window can begin: that of `console.ready`; without one that of
    `console.online`, if the figure follows it; otherwise the guest's start."""
    assert system.result.work is not None, "patterns.read requires it"
    figure = lines.holding(system.result.work.regex, "work")
    ready = re.search(system.ready, lines.text, re.MULTILINE) if system.ready else None
    if ready is not None and lines.number(ready) > figure:
        raise VerifyError(
            "the guest printed its figure before the line of `console.ready`, with which the run begins"
        )
    name = "online" if ready is None else "ready"
    at = lines.holding(system.online, "online") if ready is None else lines.number(ready)
    if at < figure:
        return f"the line of `console.{name}`", lines.record(at)
    return "the guest's start", ConsoleLine(0, 0, (Work(),) * lines.log.vcpus)


def _check_fits(claim: str, figure: int, begin: ConsoleLine, end: ConsoleLine, since: str) -> None:
    most = figure - max(AGREEMENT_NS, AGREEMENT * figure)
    passed = end.time - begin.time
    if most > passed:
        raise VerifyError(
            f"{claim}, but on the instruction clock it printed that figure {passed} ns after {since}: print "
            "`console.ready`, or else `console.online`, before the timed work and the figure after it"
        )
    ran = sum(after.ran - before.ran for before, after in zip(begin.vcpus, end.vcpus, strict=True))
    if most > ran:
        raise VerifyError(f"{claim}, but from {since} until then all its vCPUs together ran {ran} ns")


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
