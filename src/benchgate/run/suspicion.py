"""Notices what is odd about a console: a panic that no YAML names, or endless repetition. Pure.

Takes a console's plain text piece by piece. `Suspicion.line` is the first recent line that looks like a panic
of some kernel, empty if there is none. Such a line proves nothing by itself: a kernel may test its own
panics. The follower ends a run only if nothing follows it, and a run that ends with it is no good run.
`Repetition` gives the byte, the line or the few lines of which alone the last `limit` bytes consist; what is
repeated may be at most a sixteenth of that. Does not fail.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from benchgate.base.text import one_line, visible

REACH = 4096
"""At most this much follows a panic: its registers and its backtrace."""

_BEFORE = rb"""(?:
    \[[^\]\n]{1,40}\]:?                         # [    1.234567], [ERROR], [kernel::main]
    | \([^)\n]{1,40}\)                          # (XEN)
    | <[0-9]>                                   # a log level
    | (?:cpu|hart|core|lapicid)\ ?\#?[0-9]+:?
    | (?:error|fatal|critical|kernel|crit|err)\b:?
    | [*!#=~-]+
    )"""
_WORDS = rb"""(?:
    panic(?:ked)?(?:\s*[:!(@-]|\ (?:at|in|on)\b|$)
    | .{1,60}\bpanicked\ at\b                   # thread 'main' panicked at
    | .{0,60}\bkernel\ panic\b(?![=_.])
    | (?:unhandled|unexpected|uncaught|fatal)\ (?:[a-z0-9_-]+\ ){0,3}
      (?:exception|trap|interrupt|fault|abort)\b
    | (?:double|triple)\ fault\b
    | oops:
    | bug:
    | assert(?:ion)?\b.{0,200}\bfail
    | sbi_trap_error
    )"""
_SUSPECT = re.compile(
    rb"^[\ \t]*(?:%b[\ \t]*){0,4}%b.*$" % (_BEFORE, _WORDS), re.IGNORECASE | re.MULTILINE | re.VERBOSE
)
_SHARE = 16


class Suspicion:
    """Finds a line that looks like a panic. `harmless` has the YAML's patterns of lines that are none."""

    def __init__(self, harmless: Collection[bytes] = ()) -> None:
        self._harmless = [re.compile(pattern) for pattern in harmless]
        self._fed = 0
        self._open = b""
        """At most REACH bytes of the last line, which may go on."""
        self._found: tuple[tuple[int, str], ...] = ()
        """Pairs of a complete line that looks like a panic and where it begins. Each line is examined once,
        because a console may be read in many small pieces."""

    def feed(self, text: bytes) -> None:
        self._fed += len(text)
        whole = self._open + text
        end, begin = whole.rfind(b"\n") + 1, self._fed - len(whole)
        fresh = tuple((begin + at, line) for at, line in self._suspects(whole[:end]))
        self._found = tuple(one for one in (*self._found, *fresh) if one[0] >= self._fed - REACH)
        self._open = whole[end:][:REACH]

    @property
    def line(self) -> str:
        if self._found:
            return self._found[0][1]
        return next((line for _, line in self._suspects(self._open)), "")

    def _suspects(self, text: bytes) -> Iterator[tuple[int, str]]:
        for match in _SUSPECT.finditer(text):
            if not self._is_harmless(match[0]):
                yield match.start(), one_line(match[0])

    def _is_harmless(self, line: bytes) -> bool:
        return any(pattern.search(b"\n" + line + b"\n") for pattern in self._harmless)


class Repetition:
    """Finds repetition of `limit` bytes; 0 allows any."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._recent = b""
        self._fresh = 0
        """How many bytes came since the last look. Not every piece is looked at, because a look is costly."""

    def feed(self, text: bytes) -> str:
        """What the console repeats; empty if it does not, or not for long enough."""
        if not self._limit:
            return ""
        self._recent = (self._recent + text)[-self._limit :]
        self._fresh += len(text)
        if len(self._recent) < self._limit or self._fresh < self._limit // _SHARE:
            return ""
        self._fresh = 0
        return _said(self._recent, self._limit // _SHARE)


def _said(recent: bytes, longest: int) -> str:
    """Names the repeated part if the text only repeats at most `longest` bytes; empty if it does not."""
    period = recent.find(recent[: len(recent) - longest], 1)
    if period < 0 or recent[period:] != recent[:-period]:
        return ""
    unit = recent[-period:]
    if period == 1:
        return f"the byte `{visible(unit.decode('latin-1'))}`"
    return f"`{one_line(_from_line_start(unit))}`"


def _from_line_start(unit: bytes) -> bytes:
    """The repeated text, turned so that it begins where a line does."""
    before, newline, after = unit.partition(b"\n")
    return after + before + newline
