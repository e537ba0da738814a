"""Normalizes console output: CR LF and CR become LF, terminal escape sequences are removed. Pure.

Takes a console's bytes, complete (`plain`) or piece by piece (`Stream`), and gives the bytes that patterns
are matched against. `by_lines` rewrites a pattern so that `^` and `$` mean line ends in a stream that may be
cut anywhere. Nothing fails: bytes that are not an escape sequence stay unchanged.
"""

from __future__ import annotations

import re

_CONTROL = rb"\[[0-?]{0,63}[ -/]{0,3}"
_TITLE = rb"\][^\x07\x1b\r\n]{0,255}"
"""Longer ones, and a title that goes on after its line, are text, so that nothing hides later lines."""
_ESCAPES = re.compile(rb"\x1b(?:%b[@-~]|%b(?:\x07|\x1b\\)|[@-Z\\-_c])" % (_CONTROL, _TITLE))
_STILL = re.compile(rb"\x1b(?:\[[0-9;:]*m|\[\?[0-9;]*[hl]|\].*)", re.DOTALL)
"""Colours, modes and titles: escape sequences that leave the cursor where it is."""
_EDGES = re.compile(rb"^[ \t\x1b]+|(?<![ \t\x1b])[ \t\x1b]+$", re.MULTILINE)
_LINE_ENDS = re.compile(rb"%b|(?P<end>\r\n?|\n)" % _ESCAPES.pattern)
_UNFINISHED = re.compile(rb"(?:\x1b(?:%b|%b\x1b?)?|\r)\Z" % (_CONTROL, _TITLE))
"""The start of an escape sequence or of CR LF, which the next read may complete."""
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[\^$]|[^\\\[^$]+|.", re.DOTALL)
_ENDS = {"^": r"(?<=\n)", "$": r"(?=\n)"}


def plain(console: bytes) -> bytes:
    """The text of a complete console log."""
    return _ESCAPES.sub(b"", console.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


def plain_with_moves(console: bytes) -> bytes:
    """Works like `plain`, but keeps an ESC where a cursor movement or a backspace separates two texts of one
    line, because a terminal shows such a line differently."""
    lines = console.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    marked = _ESCAPES.sub(lambda match: b"" if _STILL.fullmatch(match[0]) else b"\x1b", lines)
    return _EDGES.sub(lambda match: match[0].replace(b"\x1b", b""), marked.replace(b"\b", b"\x1b"))


def line_ends(console: bytes) -> tuple[int, ...]:
    """The number of the console's own bytes at the end of each line of `plain`."""
    return tuple(match.end() for match in _LINE_ENDS.finditer(console) if match["end"])


class Stream:
    """A console that is still being read. Keeps an unfinished escape sequence back until the next `feed`."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        data = self._held + data
        unfinished = _UNFINISHED.search(data)
        cut = unfinished.start() if unfinished else len(data)
        self._held = data[cut:]
        return plain(data[:cut])


def by_lines(pattern: str) -> bytes:
    """The pattern for a stream: `^` and `$` match only beside a newline, never at the ends of the data."""
    return "".join(_ENDS.get(part, part) for part in _PARTS.findall(pattern)).encode()
