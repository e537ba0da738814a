"""Reads the lines of a program of micro-benchmarks: BENCH_START, BENCH, BENCH_SKIP, BENCH_END. Pure.

    BENCH_START kevlar
    BENCH getpid 10000 2640000 264
    BENCH_SKIP pipe (no pipes)
    BENCH_END

A BENCH line has a name, how many operations, the ns of all of them and of one. Takes plain text, gives the
`Operations`. Fails with VerifyError if the program did not end, a line is damaged or contradicts itself, or
an operation that the system's YAML lists was neither measured nor skipped. A skipped operation has no
figure, also if the program printed one: it gave up in between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from benchgate.base.errors import VerifyError
from benchgate.base.system.results import ResultDefinition
from benchgate.base.text import one_line
from benchgate.judge.console.patterns import PrintedFigures

_WORD = re.compile(r"BENCH(?:_[A-Z]+)?(?= |$)")
_FIGURE = re.compile(r"BENCH (\S{1,64}) ([0-9]{1,19}) ([0-9]{1,19}) ([0-9]{1,19})")
_SKIP = re.compile(r"BENCH_SKIP (\S{1,64})(?: (.*))?")
_IGNORED = ("BENCH_MODE", "BENCH_EXTRA")
"""What these say is in the evidence: counts for a slow machine, and figures without a unit."""


@dataclass(frozen=True, slots=True)
class Operation:
    iters: int
    total_ns: int
    line: int
    """The number of its line on the console, from 0."""
    after: int
    """The line of this program before it: the operation ran between these two."""

    @property
    def each_ns(self) -> float:
        return self.total_ns / self.iters


@dataclass(frozen=True, slots=True)
class Operations:
    label: str
    """What the program calls itself; may be empty."""
    measured: Mapping[str, Operation]
    skipped: Mapping[str, str]
    """The reason by name; it may be empty."""


def parse(text: str) -> Operations:
    lines = [(n, line.strip()) for n, line in enumerate(text.split("\n")) if _WORD.match(line.strip())]
    words = [line.partition(" ")[0] for _, line in lines]
    if words.count("BENCH_START") != 1 or words[0] != "BENCH_START":
        raise VerifyError("the program must print one line BENCH_START, before all others of its lines")
    if words.count("BENCH_END") != 1 or words[-1] != "BENCH_END":
        raise VerifyError("the program printed no BENCH_END at its end: it crashed, or was stopped")
    measured: dict[str, Operation] = {}
    skipped: dict[str, str] = {}
    for (before, _), (number, line) in pairwise(lines[:-1]):
        if match := _SKIP.fullmatch(line):
            _once(match[1], skipped)
            skipped[match[1]] = one_line((match[2] or "").strip("() "), 80)
        elif match := _FIGURE.fullmatch(line):
            _once(match[1], measured)
            measured[match[1]] = _operation(
                match[1], [int(group) for group in match.groups()[1:]], number, before
            )
        elif line.partition(" ")[0] not in _IGNORED:
            raise VerifyError(f"`{one_line(line, 80)}` is not a line of this format")
    kept = {name: operation for name, operation in measured.items() if name not in skipped}
    return Operations(lines[0][1].partition(" ")[2], kept, skipped)


def read(text: str, result: ResultDefinition) -> PrintedFigures:
    """The figures of the operations that the system's YAML lists, in ns. The time of all is the window."""
    operations = parse(text)
    for name in result.operations:
        if name not in operations.measured and name not in operations.skipped:
            raise VerifyError(f"the operation {name} is missing: the program neither measured nor skipped it")
    listed = {name: operations.measured[name] for name in result.operations if name in operations.measured}
    if not listed:
        raise VerifyError("the program skipped every operation")
    work = sum(operation.total_ns for operation in listed.values())
    skipped = {name: why for name, why in operations.skipped.items() if name in result.operations}
    return PrintedFigures(
        "ns", work, None, {name: operation.each_ns for name, operation in listed.items()}, skipped
    )


def contradiction(iters: int, total_ns: int, each_ns: float) -> str:
    """Why these figures are not of the same operations; empty if they are. That of one is cut to whole ns."""
    if abs(each_ns * iters - total_ns) < iters:
        return ""
    return f"{total_ns} ns for {iters} operations is not {each_ns:.15g} ns for each"


def _once(name: str, known: Mapping[str, object]) -> None:
    if name in known:
        raise VerifyError(f"the operation {one_line(name, 64)} is there twice")


def _operation(name: str, numbers: list[int], line: int, after: int) -> Operation:
    iters, total, each = numbers
    if not iters or not total:
        raise VerifyError(f"{one_line(name, 64)}: {iters} operations in {total} ns are no measurement")
    if wrong := contradiction(iters, total, each):
        raise VerifyError(f"{one_line(name, 64)}: {wrong}")
    return Operation(iters, total, line, after)
