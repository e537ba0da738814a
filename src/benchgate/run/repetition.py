"""Notices a console that repeats itself for ever: one byte, one line or a few lines. Pure.

Takes a console's plain text piece by piece; gives what is repeated once the last `limit` bytes consist of
nothing else. What is repeated may be at most a sixteenth of that. Does not fail.
"""

from __future__ import annotations

from benchgate.base.text import one_line, visible

_SHARE = 16


class Repetition:
    """`limit`: 0 allows any repetition."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._recent = b""
        self._fresh = 0
        """How many bytes came since the last look, which costs more than a piece."""

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
    """The text begins again after a period: where most of it is found a second time."""
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
