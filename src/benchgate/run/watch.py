"""The patterns to look for on a console, the exit codes that mean success, and the search for both. Pure.

Takes a system; gives its `Watch`, with the patterns of its YAML. Fails with ValueError if a pattern is not a
regular expression or matches the empty string.

`Scanner` takes the console's plain text in whatever pieces it is read; gives each pattern's first match, in
the order of the text. A pattern is tried on complete lines only, however long; a match begins at most REACH
bytes before the first line of the piece that completes it. At the end (`last`) the incomplete line is tried
too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated

from benchgate.base.console_text import by_lines
from benchgate.base.jsonfields import As
from benchgate.base.system.boots import REPEAT_BYTES, EndBy
from benchgate.base.system.results import LineWindow, ResultDefinition, ResultFormat, ResultPattern
from benchgate.base.system.systems import System, SystemKind

# `\n` stands for the start of a line, because `^` would also match at the start of a read. The console starts
# with an extra line end, so that this works for the first line too.
_PANICS = (rb"Kernel panic - not syncing[^\n]*", rb"\npanic:[^\n]*")
_FAILURES = (rb"\nbenchfail:[^\n]*",)
REACH = 4096
"""A match that spans several lines may be this much longer than its last line."""


def watch_for(system: System) -> Watch:
    """The patterns for this system's console."""
    if system.kind is SystemKind.NATIVE:
        return NATIVE_WATCH
    base = replace(
        GUEST_WATCH,
        ready=by_lines(system.console.ready) if system.console.ready and not system.script else None,
        failures=GUEST_WATCH.failures + tuple(to_line_end(pattern) for pattern in system.console.failures),
        success=frozenset(system.end.exit_codes),
        kill_after_end=system.end.by is EndBy.KILL,
        may_reset=system.end.may_reset,
        harmless=tuple(by_lines(pattern) for pattern in system.console.harmless),
        repeat_bytes=system.console.repeat_bytes,
    )
    if system.result.format is ResultFormat.BENCH:
        return base
    if system.script:  # the end of the conversation is its end
        return replace(base, result=None, ends=())
    ends = _end_patterns(system.result) if system.end.by is EndBy.KILL else ()
    return replace(base, result=_work_end(system.result), ends=ends)


def _work_end(result: ResultDefinition) -> bytes | None:
    """A pattern for the line at the end of the guest's work; None if no line shows it."""
    match result.work:
        case ResultPattern(regex=pattern) | LineWindow(ends=pattern):
            return whole_line(pattern)
    return whole_line(r"^BENCH_END\b") if result.format is ResultFormat.BENCH_LINES else None


def _end_patterns(result: ResultDefinition) -> tuple[bytes, ...]:
    """The patterns of everything that the verifier will need."""
    if result.format is ResultFormat.BENCH_LINES:
        return (whole_line(r"^BENCH_END\b"),)
    figures = tuple(figure.regex for figure in result.figures.values())
    lines = tuple(one.ends for one in (result.work, result.total) if isinstance(one, LineWindow))
    return tuple(whole_line(pattern) for pattern in (*result.answers, *figures, *lines))


def whole_line(pattern: str) -> bytes:
    """Extends a pattern to the end of its line, because a number may still be incomplete."""
    return to_line_end(pattern) + b"\n"


def to_line_end(pattern: str) -> bytes:
    """Extends a pattern by the rest of its line, in which a kernel often prints the reason."""
    return rb"(?:%b)[^\n]*" % by_lines(pattern)


def _encoded(text: str) -> bytes:
    return text.encode("latin-1")


def _decoded(pattern: bytes) -> str:
    return pattern.decode("latin-1")


Pattern = Annotated[bytes, As(str, _encoded, _decoded)]
"""A pattern, which JSON has as Latin-1 because that keeps each byte."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Regular expressions over bytes, matched against plain lines (base/console_text.py). A failure
    or a panic takes precedence over everything else."""

    ready: Pattern | None = None
    """This ends the boot. If None, the whole console is the run, and its deadline is the sum of both."""
    result: Pattern | None = None
    """This shows that the window is over, and the host's counters of the vCPU threads are read."""
    ends: tuple[Pattern, ...] = ()
    """A good run prints all of these at its end, in any order. If empty, only the exit status decides."""
    panics: tuple[Pattern, ...] = ()
    failures: tuple[Pattern, ...] = ()
    success: frozenset[int] = frozenset({0})
    """The exit statuses that mean success."""
    kill_after_end: bool = False
    """Whether to kill the guest after its end line, for systems that cannot power off."""
    may_reset: bool = False
    """Whether the guest may end by a reset."""
    harmless: tuple[Pattern, ...] = ()
    """Patterns of lines that look like a panic and are none (run/suspicion.py)."""
    repeat_bytes: int = REPEAT_BYTES
    """The console may repeat itself for this many bytes (run/suspicion.py); 0 for no limit."""

    def __post_init__(self) -> None:
        said = [pattern for pattern in (self.ready, self.result) if pattern is not None]
        for pattern in (*said, *self.ends, *self.panics, *self.failures, *self.harmless):
            try:
                expression = re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
            if expression.match(b""):
                raise ValueError(f"{pattern!r} matches the empty string, so it would match any console")


# This is for systems that use the wire format (`benchgate docs wire`). QEMU's status is 33 for a success
# through isa-debug-exit.
GUEST_WATCH = Watch(
    ready=rb"\nbenchready\b[^\n]*",
    result=rb"\n@bench begin ",
    ends=(rb"\n@bench end [^\n]*(?=\n)",),
    panics=_PANICS,
    failures=_FAILURES,
    success=frozenset({0, 33}),
)
NATIVE_WATCH = Watch(result=GUEST_WATCH.result, ends=GUEST_WATCH.ends, failures=_FAILURES)


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """One match. Its `name` is panic, failure, ready, result or end."""

    name: str
    line: bytes


class Scanner:
    def __init__(self, watch: Watch) -> None:
        named: list[tuple[str, bytes | None]] = [
            *(("panic", pattern) for pattern in watch.panics),
            *(("failure", pattern) for pattern in watch.failures),
            ("ready", watch.ready),
            ("result", watch.result),
            *(("end", pattern) for pattern in watch.ends),
        ]
        self._wanted = [(name, re.compile(pattern)) for name, pattern in named if pattern]
        self._pieces = [b"\n"]  # so that the first line, like all others, follows a line end; see watch.py
        self._seen = 1
        """How many bytes of the joined pieces were already tried."""

    def feed(self, text: bytes, *, last: bool = False) -> tuple[PatternMatch, ...]:
        self._pieces.append(text)
        if b"\n" not in text and not last:
            return ()
        whole = b"".join(self._pieces)
        limit = len(whole) if last else whole.rindex(b"\n") + 1
        matches = self._try(whole, limit)
        rest = max(0, limit - REACH)
        self._pieces, self._seen = [whole[rest:]], limit - rest
        return matches

    def _try(self, whole: bytes, limit: int) -> tuple[PatternMatch, ...]:
        begin = max(0, self._seen - REACH)
        matches: dict[int, re.Match[bytes]] = {}
        for number, (_, pattern) in enumerate(self._wanted):
            found = (match for match in pattern.finditer(whole, begin, limit) if match.end() > self._seen)
            if first := next(found, None):
                matches[number] = first
        order = sorted(matches, key=lambda number: (matches[number].start(), number))
        seen = [PatternMatch(self._wanted[number][0], matches[number][0]) for number in order]
        self._wanted = [one for number, one in enumerate(self._wanted) if number not in matches]
        # An end counts only when all of them were seen, and then it is the last one.
        is_open = any(name == "end" for name, _ in self._wanted)
        ends = [] if is_open else [match for match in seen if match.name == "end"][-1:]
        return tuple(match for match in seen if match.name != "end" or any(match is end for end in ends))
