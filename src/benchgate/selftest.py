"""Reads the console of a system that runs a fixed self-test and does not speak the wire format. Pure.

Takes the bytes of a console and the patterns of the system's YAML, gives `Figures`. Fails with VerifyError:
an answer that is wrong or missing, a figure that is missing or stands there twice. The console is not
trusted; its text is searched by the user's own patterns, never evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from benchgate import plaintext
from benchgate.errors import VerifyError
from benchgate.systems import Result, ResultPattern
from benchgate.wire import MAX_CONSOLE_BYTES

_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000}
_MAX_FIGURE = 2**63
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+|[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?:_[0-9]{3})+))"
    r"(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,4})?"
)
"""Grouped by threes or not at all: where a comma is the decimal point, `1,5` is not 15."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What the self-test measured, once its answers were found right."""

    unit: str
    work: int
    total: int | None


def read(console: bytes, result: Result) -> Figures:
    """The figures of one console; the answers come first, as a figure without a right answer is none."""
    text = plain(console)
    _check_answers(text, result)
    if result.work is None:
        raise VerifyError("the system's YAML names no pattern for the work window")
    work = _figure(text, "work", result.work)
    total = _figure(text, "total", result.total) if result.total else None
    unit = _unit(result.work)
    if result.total and _unit(result.total) != unit:
        raise VerifyError(f"work is in {unit} and total in {_unit(result.total)}: they must share a clock")
    return Figures(unit, work, total)


def online(console: bytes, pattern: str) -> int:
    """How many CPUs came up, by the pattern with a group (?P<n>...)."""
    match = _only(plain(console), pattern, "online")
    if not re.fullmatch(r"[0-9]{1,5}", match["n"] or ""):
        raise VerifyError(f"online: `{_shown(match['n'] or '')}` is not a number of CPUs")
    return int(match["n"])


def plain(console: bytes) -> str:
    """The console as text: one newline a line, terminal escapes taken out."""
    if len(console) > MAX_CONSOLE_BYTES:
        raise VerifyError(f"the console has {len(console)} bytes; more than {MAX_CONSOLE_BYTES} are not read")
    return plaintext.plain(console).decode("utf-8", "replace")


def _check_answers(text: str, result: Result) -> None:
    """An answer may stand in several places, one a CPU for instance: it must be right in each."""
    expect = result.expect or {}
    if not expect:
        raise VerifyError("the system's YAML names no expected answer: nothing shows that the run was right")
    found = [
        (name, value)
        for pattern in result.answers
        for name, value in _only(text, pattern, "answers").groupdict().items()
        if name in expect and value is not None
    ]
    for name, value in found:
        if value != expect[name]:
            raise VerifyError(f"wrong answer: {name} is {_shown(value)}, right is {expect[name]}")
    named = {name for name, _ in found}
    for name in expect:
        if name not in named:
            raise VerifyError(f"answer {name} is missing from the console")


def _only(text: str, pattern: str, what: str) -> re.Match[str]:
    """A pattern must match once: of two matches nobody could say which one counts."""
    matches = [match for match, _ in zip(re.finditer(pattern, text, re.MULTILINE), range(2), strict=False)]
    if not matches:
        raise VerifyError(f"{what}: nothing on the console matches `{pattern}`")
    if len(matches) > 1:
        raise VerifyError(f"{what}: `{pattern}` matches more than once; make it match the one that counts")
    return matches[0]


def _figure(text: str, what: str, pattern: ResultPattern) -> int:
    """Whole nanoseconds or cycles; digits may be grouped by commas, a shifted counter is shifted back."""
    written = (_only(text, pattern.regex, what)["value"] or "").strip()
    if not _NUMBER.fullmatch(written):
        raise VerifyError(f"{what}: `{_shown(written)}` is not a number such as 1234.5 or 1,234.5")
    value = Decimal(written.replace(",", "").replace("_", ""))
    if not 0 < value < _MAX_FIGURE:
        raise VerifyError(f"{what}: {_shown(written)} is not a length of time")
    figure = int(value * _NANOSECONDS.get(pattern.unit, 1) * 2**pattern.shift)
    if not 0 < figure < _MAX_FIGURE:
        raise VerifyError(f"{what}: {_shown(written)} {pattern.unit} is out of range")
    return figure


def _unit(pattern: ResultPattern) -> str:
    return "ns" if pattern.unit in _NANOSECONDS else pattern.unit


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:80])
