"""The frame of a picture over CPU counts or over values: scales, grid, axis and the SVG around it.

Takes ranges and columns; gives places and SVG. 360 units wide, so that its text is readable on a phone. Does
not fail: an empty range is widened.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchgate.base.workload.metrics import NS, TIME_SIZES
from benchgate.render.page.html import Child, Html, tag

WIDTH = 360
LETTER = 6.3
"""The width of a character of a text, at most."""
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 10, 34
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
LEAST_SHORT, MOST_SHORT = 10_000, 999e12


APART = 10.0
"""Figures that differ by more than so many times cannot be read on one axis."""


def are_apart(tops: Sequence[float]) -> bool:
    above = [top for top in tops if top > 0]
    return bool(above) and max(above) > APART * min(above)


Piece = TypeVar("Piece")


def on_scales(pieces: Sequence[Piece], top_of: Callable[[Piece], float]) -> list[list[Piece]]:
    """The pieces in groups that can be read on one axis: one group, or each piece alone."""
    if are_apart([top_of(piece) for piece in pieces]):
        return [[piece] for piece in pieces]
    return [list(pieces)]


def round_step(span: float, most: int = 5) -> float:
    """The smallest round step that divides the span into at most `most` parts."""
    if span <= 0 or not math.isfinite(span):
        return 1.0
    size = 10.0 ** math.floor(math.log10(span / most))
    return next(size * step for step in STEPS if span / (size * step) <= most + 1e-9)


def short(value: float) -> str:
    """A value of an axis in at most six characters: `0.25`, `1,500`, `12.5M`."""
    if abs(value) >= MOST_SHORT:
        return f"{value:.0e}"
    if abs(value) < LEAST_SHORT:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    size, name = next(one for one in SIZES if abs(value) >= one[0])
    return f"{value / size:.3g}{name}"


def ticks(low: float, high: float, most: int = 5) -> tuple[float, ...]:
    """Round values from at or below `low` to at or above `high`."""
    step = round_step(high - low, most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(step * number for number in range(first, max(last, first + 1) + 1))


MOST_DECIMALS = 3


def labels(marks: Sequence[float], unit: str) -> list[str]:
    """A text for each mark, in one unit and with as many decimals as tell them apart: `1.2 ms`, `1.4 ms`."""
    step = min(abs(b - a) for a, b in itertools.pairwise(marks))
    counts = ((size, f"{name} {unit}") for size, name in SIZES if size >= LEAST_SHORT)
    sizes = TIME_SIZES if unit == NS else (*counts, (1.0, unit))
    most = max(map(abs, marks))
    fitting = [one for one in sizes if one[0] <= most and _decimals(step / one[0]) <= MOST_DECIMALS]
    size, name = fitting[0] if fitting else sizes[-1]
    decimals = _decimals(step / size)
    gap = " " if unit in (name, NS) else ""
    return [f"{mark / size:,.{decimals}f}{gap}{name}".strip() for mark in marks]


def _decimals(step: float) -> int:
    """How many decimals show a step, which is a round one, without an error."""
    return next((n for n in range(9) if math.isclose(round(step, n), step, rel_tol=1e-6)), 9)


@dataclass(frozen=True, slots=True)
class Frame:
    """`columns`: the CPU counts, evenly spaced; `marks`: the values at which the grid has a line."""

    columns: tuple[int, ...]
    marks: tuple[float, ...]
    height: int = 220

    @property
    def pitch(self) -> float:
        """The width of one column."""
        return (WIDTH - LEFT - RIGHT) / len(self.columns)

    def x(self, cpus: float) -> float:
        """The place of a CPU count; between two columns it follows the logarithm."""
        place = bisect_right(self.columns, cpus) - 1
        if place < 0 or place >= len(self.columns) - 1:
            part = 0.0
        else:
            low, high = self.columns[place : place + 2]
            part = math.log(cpus / low) / math.log(high / low)
        return LEFT + self.pitch * (max(place, 0) + 0.5 + part)

    def y(self, value: float) -> float:
        """Values beyond the marks are drawn at the edge."""
        low, high = self.marks[0], self.marks[-1]
        part = (min(max(value, low), high) - low) / (high - low)
        return self.height - BOTTOM - (self.height - TOP - BOTTOM) * part

    def drawn(self, shown: Callable[[float], str], below: str) -> list[Html]:
        """Grid, values, CPU counts; `below` says what the columns are."""
        bottom, right = self.height - BOTTOM, WIDTH - RIGHT
        lines = [level(self.y(mark), shown(mark)) for mark in self.marks]
        lines += [
            tag("text", str(column), x=self.x(column), y=bottom + 14, text_anchor="middle")
            for column in self.columns
        ]
        axis = tag("path", class_="axis", d=f"M{LEFT} {TOP}V{bottom}H{right}")
        told = tag("text", below, x=(LEFT + right) / 2, y=self.height - 5, text_anchor="middle")
        return [*lines, axis, told]


def named(name: str, x: float, y: float, room: float) -> Html:
    """A name that ends at x; one that does not fit is shortened and has the whole as its title."""
    letters = int(room / LETTER)
    if len(name) <= letters:
        return tag("text", name, x=x, y=y, text_anchor="end")
    shown = f"{name[: max(letters - 2, 1)]}.."
    return tag("text", tag("title", name), shown, x=x, y=y, text_anchor="end")


def level(y: float, shown: str, left: float = LEFT) -> Html:
    """One line of the grid with its value."""
    line = tag("path", class_="grid", d=f"M{left:.1f} {y:.1f}H{WIDTH - RIGHT}")
    return tag("g", line, tag("text", shown, x=left - 5, y=y + 4, text_anchor="end"))


def upright(x: float, top: float, bottom: float, shown: str) -> Html:
    """One line of the grid of a picture whose values are below it."""
    line = tag("path", class_="grid", d=f"M{x:.1f} {top}V{bottom}")
    return tag("g", line, tag("text", shown, x=x, y=bottom + 14, text_anchor="middle"))


def picture(title: str, height: float, *children: Child, width: float = WIDTH) -> Html:
    """`title` is what a screen reader says instead of the picture."""
    view = f"0 0 {width:g} {height:g}"
    return tag("svg", tag("title", title), *children, viewBox=view, role="img", aria_label=title)


def path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
