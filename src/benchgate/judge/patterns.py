"""Reads the console of a system that runs a fixed self-test and does not use the wire format. Pure.

Takes the bytes of a console and the patterns of the system's YAML; gives `Figures`. Fails with VerifyError if
an answer is wrong or missing, or if a figure or the line with which its time begins is missing or ambiguous.
The console is untrusted: it is only searched with the user's own patterns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from benchgate.base import console_text
from benchgate.base.errors import VerifyError
from benchgate.base.systems import Result, ResultPattern
from benchgate.base.text import one_line
from benchgate.judge.wire import MAX_CONSOLE_BYTES

_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000}
_MAX_FIGURE = 2**63
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+|[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?:_[0-9]{3})+))"
    r"(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,4})?"
)
"""Digits are in groups of three or not grouped, so that `1,5` with a decimal comma is not read as 15."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a self-test whose answers are right."""

    unit: str
    work: int
    total: int | None
    metrics: Mapping[str, float] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Why, for each metric that the guest did not measure."""


def read(console: bytes, result: Result) -> Figures:
    """The figures of one console. The answers are checked first: without them a figure does not count."""
    text = plain(console)
    _check_answers(text, result)
    if result.work is None:
        raise VerifyError("the system's YAML has no pattern for the work window (`result.work`)")
    work = _figure(text, "work", result.work)
    total = _figure(text, "total", result.total) if result.total else None
    unit = _unit(result.work)
    if result.total and _unit(result.total) != unit:
        raise VerifyError(f"work is in {unit} and total in {_unit(result.total)}: they must share a clock")
    return Figures(unit, work, total)


def online_cpus(console: bytes, pattern: str) -> int:
    """The number of CPUs that came up, from the group (?P<n>...) of the pattern."""
    match = only(plain(console), pattern, "online")
    if not re.fullmatch(r"[0-9]{1,5}", match["n"] or ""):
        raise VerifyError(f"online: `{one_line(match['n'] or '', 80)}` is not a number of CPUs")
    return int(match["n"])


def plain(console: bytes) -> str:
    """The console as text: lines end with a newline, and terminal escapes are removed, except that an ESC
    stands where a line moves the cursor within its text."""
    if len(console) > MAX_CONSOLE_BYTES:
        raise VerifyError(f"the console has {len(console)} bytes; more than {MAX_CONSOLE_BYTES} are not read")
    return console_text.plain_with_moves(console).decode("utf-8", "replace")


def _check_answers(text: str, result: Result) -> None:
    """An answer may match several patterns, for example one per CPU. It must be right in each."""
    expect = result.expect or {}
    if not expect:
        raise VerifyError(
            "the system's YAML has no expected answer (`result.expect`), so the run cannot be verified"
        )
    found = [
        (name, value)
        for pattern in result.answers
        for name, value in only(text, pattern, "answers").groupdict().items()
        if name in expect and value is not None
    ]
    for name, value in found:
        if value != expect[name]:
            raise VerifyError(f"wrong answer: {name} is {one_line(value, 80)}, expected {expect[name]}")
    named = {name for name, _ in found}
    for name in expect:
        if name not in named:
            raise VerifyError(f"answer {name} is missing from the console")


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


def figure_lines(text: str, what: str, pattern: ResultPattern) -> tuple[int, int]:
    """The lines, numbered from 0, with which the figure's time begins and in which the figure stands."""
    begin = _line(text, only(text, pattern.begins, f"{what}.begins"))
    end = _line(text, only(text, pattern.regex, what))
    if begin >= end:
        raise VerifyError(
            f"{what}: the figure is in line {end + 1} of the console, and its time begins with line "
            f"{begin + 1} (`result.{what}.begins`): print the figure after the timed work"
        )
    return begin, end


def _line(text: str, match: re.Match[str]) -> int:
    """The line in which a match ends."""
    return text.count("\n", 0, match.end() - match[0].endswith("\n"))


def _figure(text: str, what: str, pattern: ResultPattern) -> int:
    """The figure in whole nanoseconds or cycles. A counter that was shifted right is shifted back."""
    figure_lines(text, what, pattern)
    written = (only(text, pattern.regex, what)["value"] or "").strip()
    if not _NUMBER.fullmatch(written):
        raise VerifyError(f"{what}: `{one_line(written, 80)}` is not a number such as 1234.5 or 1,234.5")
    value = Decimal(written.replace(",", "").replace("_", ""))
    if not 0 < value < _MAX_FIGURE:
        raise VerifyError(f"{what}: {one_line(written, 80)} is not a positive duration")
    figure = int(value * _NANOSECONDS.get(pattern.unit, 1) * 2**pattern.shift)
    if not 0 < figure < _MAX_FIGURE:
        raise VerifyError(f"{what}: {one_line(written, 80)} {pattern.unit} is out of range")
    return figure


def _unit(pattern: ResultPattern) -> str:
    return "ns" if pattern.unit in _NANOSECONDS else pattern.unit
