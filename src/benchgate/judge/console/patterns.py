"""Reads answers and figures from the output of a system that does not use the wire format. Pure.

Takes the guest's output (output.py) and the patterns of the system's YAML; gives answers by name, and
figures. Fails with VerifyError if an answer or a figure, or the line with which its time begins, is missing
or ambiguous, or if an answer is wrong. The output is untrusted: it is only searched with the user's own
patterns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from benchgate.base.errors import VerifyError
from benchgate.base.system.results import TYPED, ResultPattern
from benchgate.base.system.script import Script
from benchgate.base.system.systems import System
from benchgate.base.text import one_line
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.insn.log import LateSightings
from benchgate.judge.console.output import GuestOutput

_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_MAX_FIGURE = 2**63
_MOST_CPUS = 2**16
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+|[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?:_[0-9]{3})+))"
    r"(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,4})?"
)
"""Digits are in groups of three or not grouped, so that `1,5` with a decimal comma is not read as 15."""


@dataclass(frozen=True, slots=True)
class PrintedFigures:
    """The figures of a run whose answers are right."""

    unit: str
    work: int
    total: int | None
    metrics: Mapping[str, float] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    """The reason for each metric that the guest did not measure."""
    step: int = 0
    """The least difference of two printed figures, in `unit`; 0: the guest printed none."""
    late: LateSightings | None = None
    """What vCPUs saw too late in the work window; None: not known."""
    total_late: LateSightings | None = None
    """What vCPUs saw too late in the total window."""
    unused: str = ""
    """Which CPU did no work meanwhile, although the row counts it; empty: each worked, or it is not known."""


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    unit: str
    """`ns`, or `cycles` of a counter whose frequency is not known."""
    value: int
    step: int
    late: LateSightings | None = None
    """What vCPUs saw too late in its time; None: not known."""
    unused: str = ""
    """Which CPU did no work in its time; empty: each worked, or it is not known."""


def online_cpus(output: GuestOutput, system: System) -> int:
    """The number of CPUs that came up: a captured number, or how many lines match."""
    if system.console.online_lines:
        lines = re.compile(system.console.online_lines)
        return min(_MOST_CPUS, sum(lines.search(line) is not None for line in output.text.split("\n")))
    match = only(output.text, system.console.online, "online")
    if not re.fullmatch(r"[0-9]{1,5}", match["n"] or ""):
        raise VerifyError(f"online: `{one_line(match['n'] or '', 80)}` is not a number of CPUs")
    return int(match["n"])


def answers(output: GuestOutput, patterns: Sequence[str], script: Script | None) -> Mapping[str, str]:
    """What the named groups have captured: those of `patterns` in all of the output, those of a step in its
    own part. A name that is in several patterns, for example one per CPU, must be the same in each."""
    result: dict[str, str] = {}
    for _, text, pattern, what in _places(output, patterns, script):
        for name, value in only(text, pattern, what).groupdict().items():
            if value is not None and result.setdefault(name, value) != value:
                raise VerifyError(
                    f"answer {name} is {one_line(result[name], 80)} in one place of the console, and "
                    f"{one_line(value, 80)} in another"
                )
    return result


def _places(
    output: GuestOutput, patterns: Sequence[str], script: Script | None
) -> Iterator[tuple[int, str, str, str]]:
    """Where each answer is searched: the first line and the text; and its pattern, and what it is."""
    for pattern in patterns:
        yield 0, output.text, pattern, "answers"
    for number, step in enumerate(script.steps if script else ()):
        for capture in step.captures:
            yield output.typed[number], output.steps[number], capture, f"capture of step {number + 1}"


def last_answer(output: GuestOutput, patterns: Sequence[str], script: Script | None) -> int | None:
    """The last line, numbered from 0, that has an answer; None: none has."""
    places = _places(output, patterns, script)
    lines = (first + line_of(text, only(text, pattern, what)) for first, text, pattern, what in places)
    return max(lines, default=None)


def check_answers(found: Mapping[str, str], expect: Mapping[str, str]) -> None:
    for name, value in expect.items():
        if name not in found:
            raise VerifyError(f"answer {name} is missing from the console")
        if found[name] != value:
            raise VerifyError(f"wrong answer: {name} is {one_line(found[name], 80)}, expected {value}")


def only(text: str, pattern: str, what: str) -> re.Match[str]:
    """A pattern must match exactly once; with two matches it is not clear which one counts."""
    matches = [match for match, _ in zip(re.finditer(pattern, text, re.MULTILINE), range(2), strict=False)]
    if not matches:
        raise VerifyError(f"{what}: nothing on the console matches `{pattern}`")
    if len(matches) > 1:
        raise VerifyError(
            f"{what}: `{pattern}` matches more than once; change it so that it only matches the right place"
        )
    begin, last = matches[0].start(), max(matches[0].start(), matches[0].end() - 1)
    line = text[text.rfind("\n", 0, begin) + 1 : last] + text[last:].partition("\n")[0]
    if "\x1b" in line:
        raise VerifyError(
            f"{what}: a line that matches `{pattern}` moves the cursor, so a terminal shows another text: "
            "print it without escape sequences and backspaces"
        )
    return matches[0]


def figure_lines(output: GuestOutput, what: str, pattern: ResultPattern) -> tuple[int, int]:
    """The lines, numbered from 0, with which the figure's time begins and in which the figure stands."""
    end = line_of(output.text, only(output.text, pattern.regex, what))
    begin = first_line(output, pattern.begins, f"{what}.begins", end)
    if begin >= end:
        raise VerifyError(
            f"{what}: the figure is in line {end + 1} of the console, and its time begins with line "
            f"{begin + 1} (`result.{what}.begins`): print the figure after the timed work"
        )
    return begin, end


def first_line(output: GuestOutput, pattern: str, what: str, end: int) -> int:
    """The line with which a window begins: one that matches, or the last typed one before its end."""
    if pattern != TYPED:
        return line_of(output.text, only(output.text, pattern, what))
    typed = [line for line in output.typed if line < end]
    if not typed:
        raise VerifyError(f"{what}: nothing was typed before line {end + 1} of the console, its end")
    return typed[-1]


def line_of(text: str, match: re.Match[str]) -> int:
    """The line in which a match ends."""
    return text.count("\n", 0, match.end() - match[0].endswith("\n"))


def figure(output: GuestOutput, what: str, pattern: ResultPattern) -> PrintedFigure:
    """The figure in whole nanoseconds or cycles. A counter that was shifted right is shifted back."""
    figure_lines(output, what, pattern)
    written = (only(output.text, pattern.regex, what)["value"] or "").strip()
    if not _NUMBER.fullmatch(written):
        raise VerifyError(f"{what}: `{one_line(written, 80)}` is not a number such as 1234.5 or 1,234.5")
    value = Decimal(written.replace(",", "").replace("_", ""))
    if not 0 < value < _MAX_FIGURE:
        raise VerifyError(f"{what}: {one_line(written, 80)} is not a positive duration")
    each, unit = _each(pattern)
    result = int(value * each)
    if not 0 < result < _MAX_FIGURE:
        raise VerifyError(f"{what}: {one_line(written, 80)} {pattern.unit} is out of range")
    step = max(_last_digit(value), Decimal(str(pattern.step))) * each
    return PrintedFigure(unit, result, math.ceil(step))


def _each(pattern: ResultPattern) -> tuple[Decimal, str]:
    """Gives the ns in one printed unit, or the cycles if their frequency is not known."""
    shifted = 2**pattern.shift
    if pattern.hz:
        return Decimal(SECOND_NS * shifted) / Decimal(str(pattern.hz)), "ns"
    known = _NANOSECONDS.get(pattern.unit)
    return Decimal((known or 1) * shifted), "ns" if known else pattern.unit


def _last_digit(value: Decimal) -> Decimal:
    """One in the last digit that was printed."""
    exponent = value.as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
