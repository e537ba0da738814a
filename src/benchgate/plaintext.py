"""What a console says, as lines: CR LF and CR become LF, terminal escapes are taken out. Pure.

Takes a console's bytes, whole (`plain`) or as they come (`Stream`), and gives those that patterns are tried
on; `by_lines` turns a pattern whose `^` and `$` are a line's ends into one for such bytes, cut anywhere.
Nothing fails: what is no escape stays as it is.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_c])")
_UNFINISHED = re.compile(rb"(?:\x1b(?:\[[0-?]{0,63}[ -/]{0,3}|\][^\x07\x1b]{0,63}\x1b?)?|\r)\Z")
"""The begin of an escape, or of CR LF: the next read tells. A longer one is somebody's text."""
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[\^$]|[^\\\[^$]+|.", re.DOTALL)
_ENDS = {"^": r"(?<=\n)", "$": r"(?=\n)"}


def plain(console: bytes) -> bytes:
    """A whole console."""
    return _ESCAPES.sub(b"", console.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


class Stream:
    """A console that is still being read."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        data = self._held + data
        unfinished = _UNFINISHED.search(data)
        cut = unfinished.start() if unfinished else len(data)
        self._held = data[cut:]
        return plain(data[:cut])


def by_lines(pattern: str) -> bytes:
    """For a stream, which begins and ends anywhere: `^` and `$` want to see the line end itself."""
    return "".join(_ENDS.get(part, part) for part in _PARTS.findall(pattern)).encode()
