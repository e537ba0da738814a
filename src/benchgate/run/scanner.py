"""Finds a watch's patterns in a console, whatever pieces the console is read in. Pure.

Takes the console's plain text piece by piece; gives each pattern's first match, in the order of the text. A
pattern is tried on complete lines only, however long; a match begins at most REACH bytes before the first
line of the piece that completes it. At the end (`last`) the incomplete line is tried too. Does not fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchgate.run.watch import Watch

REACH = 4096
"""A match that spans several lines may be this much longer than its last line."""


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
        found = self._try(whole, limit)
        rest = max(0, limit - REACH)
        self._pieces, self._seen = [whole[rest:]], limit - rest
        return found

    def _try(self, whole: bytes, limit: int) -> tuple[PatternMatch, ...]:
        begin = max(0, self._seen - REACH)
        matches = [
            (match.start(), number, match[0])
            for number, (_, pattern) in enumerate(self._wanted)
            if (match := _first_new(pattern, whole, begin, self._seen, limit))
        ]
        found = tuple(PatternMatch(self._wanted[number][0], line) for _, number, line in sorted(matches))
        gone = {number for _, number, _ in matches}
        self._wanted = [one for number, one in enumerate(self._wanted) if number not in gone]
        if any(name == "end" for name, _ in self._wanted):  # it counts only when all of them were seen
            return tuple(one for one in found if one.name != "end")
        ends = [one for one in found if one.name == "end"]
        return tuple(one for one in found if one.name != "end" or one is ends[-1])


def _first_new(
    pattern: re.Pattern[bytes], text: bytes, begin: int, seen: int, limit: int
) -> re.Match[bytes] | None:
    return next((match for match in pattern.finditer(text, begin, limit) if match.end() > seen), None)
