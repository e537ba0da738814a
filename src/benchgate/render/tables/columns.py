"""Columns of plain text as a terminal shows them: wide characters take two places, combining ones none.

Takes text that is printable already, gives text. It does not fail.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

GAP = 2


def width(text: str) -> int:
    """Places on the screen."""
    return sum(_char_width(char) for char in text)


def pad(text: str, size: int) -> str:
    return text + " " * (size - width(text))


def widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Of each column, the widest of its cells."""
    return [max(map(width, column)) for column in zip(*rows, strict=True)]


def drawn(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines; the first is the heading, and a rule follows it."""
    sizes = widths(rows)
    lines = [(" " * GAP).join(map(pad, row, sizes)).rstrip() for row in rows]
    return [lines[0], "-" * (sum(sizes) + GAP * (len(sizes) - 1)), *lines[1:]]


def wrapped(text: str, room: int) -> list[str]:
    return textwrap.wrap(text, room, subsequent_indent="  ", break_on_hyphens=False)


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
