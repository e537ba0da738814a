"""Columns of plain text for a terminal: wide characters take two columns, combining characters none.

Takes printable text; gives text. Does not fail.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchgate.base.text import visible

GAP = 2
NOTHING = "-"
"""A cell without a value."""
_NO_BREAK = "\0"
"""Stands for a space where no line may end; printable text has none."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table that a terminal and a page show."""

    title: str
    rows: tuple[Sequence[str], ...]
    texts: int = 1
    """How many columns from the left hold text."""
    prose: int = 0
    """How many columns from the right hold text."""


def width(text: str) -> int:
    """Columns on the screen."""
    return sum(_char_width(char) for char in text)


def pad(text: str, size: int) -> str:
    return text + " " * (size - width(text))


def widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column."""
    return [max(map(width, column)) for column in zip(*rows, strict=True)]


def used(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """The numbers of the columns in which some row has a value."""
    return [n for n in range(len(heading)) if any(row[n] != NOTHING for row in rows)]


def fitted(rows: Sequence[Sequence[str]], leave_out: Sequence[int], room: int) -> list[Sequence[str]]:
    """The rows, of which the first is the heading, without the columns that have no value, and then without
    those that do not fit. `leave_out` has their order: largest first, 0 never."""
    kept = used(rows[0], rows[1:])
    while _needed(rows, kept) > room and any(leave_out[n] for n in kept):
        kept.remove(max(kept, key=lambda n: (leave_out[n], n)))
    return [[row[n] for n in kept] for row in rows]


def _needed(rows: Sequence[Sequence[str]], kept: Sequence[int]) -> int:
    return sum(widths(rows)[n] for n in kept) + GAP * (len(kept) - 1)


def drawn(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines; the first row is the heading, with a rule below it."""
    sizes = widths(rows)
    lines = [(" " * GAP).join(map(pad, row, sizes)).rstrip() for row in rows]
    return [lines[0], "-" * (sum(sizes) + GAP * (len(sizes) - 1)), *lines[1:]]


def wrapped(text: str, room: int, *, cut: bool = True, whole: Iterable[str] = ()) -> list[str]:
    """Without `cut`, a word longer than a line stays whole, and so does a command of `whole`: it can be
    pasted."""
    for command in whole:
        text = text.replace(command, command.replace(" ", _NO_BREAK))
    lines = textwrap.wrap(text, room, subsequent_indent="  ", break_on_hyphens=False, break_long_words=cut)
    lines = [line.replace(_NO_BREAK, " ") for line in lines]
    return [visible(line) for line in lines]  # again: a long word that was cut may now begin like a command


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
