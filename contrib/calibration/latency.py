"""The curve of a pointer chase: latency over the size of the array, both logarithmic.

Takes curves of (size, lowest, typical) and the levels that a machine file states; gives an SVG. A bar goes
from the lowest pass to the median of the passes. The file's levels are a staircase with the name of
each cache at its size. Does not fail: a picture without points has its title only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.render.page.html import Html, tag
from benchgate.render.page.look import colour_class, marker, outline
from benchgate.render.page.pictures.frame import LEFT, RIGHT, WIDTH, level, path, picture

HEIGHT, TOP, BOTTOM = 240, 24, 34
MARKS = (1, 2, 5)
"""The marks in each power of ten on the axis of latencies."""
OCTAVES_A_MARK = 3
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
LETTER = 6.2
"""The width of a letter of a label, about."""


@dataclass(frozen=True, slots=True)
class Curve:
    look: int
    name: str
    points: tuple[tuple[int, float, float], ...]
    """(bytes, lowest, typical) in ascending order; latencies in ns."""


@dataclass(frozen=True, slots=True)
class Stair:
    """A level of the file: arrays up to `size` have this latency. The last one, memory, has no size."""

    name: str
    size: int | None
    ns: float


@dataclass(frozen=True, slots=True)
class _LatencyScale:
    sizes: tuple[int, int]
    low: float
    high: float

    def x(self, size: float) -> float:
        first, last = map(math.log2, self.sizes)
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log2(size) - first) / max(last - first, 1e-9)

    def y(self, ns: float) -> float:
        part = math.log(min(max(ns, self.low), self.high) / self.low) / math.log(self.high / self.low)
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * part


def draw(title: str, curves: Sequence[Curve], stairs: Sequence[Stair]) -> Html:
    filled = [curve for curve in curves if curve.points]
    if not filled:
        return picture(title, HEIGHT)
    scale = _scale(filled, stairs)
    return picture(
        title, HEIGHT, *_axes(scale), *_staircase(stairs, scale), *(_curve(curve, scale) for curve in filled)
    )


def _scale(curves: Sequence[Curve], stairs: Sequence[Stair]) -> _LatencyScale:
    values = [ns for curve in curves for point in curve.points for ns in point[1:]]
    values += [stair.ns for stair in stairs]
    places = [point[0] for curve in curves for point in curve.points]
    marks = _marks(min(values), max(values))
    return _LatencyScale((min(places), max(places)), marks[0], marks[-1])


def _marks(low: float, high: float) -> list[float]:
    """Round latencies, from at or below `low` to at or above `high`."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    every = [mark * 10.0**power for power in powers for mark in MARKS]
    first = max(n for n, mark in enumerate(every) if mark <= low)
    last = next((n for n, mark in enumerate(every) if mark >= high), len(every) - 1)
    return every[first : max(last, first + 1) + 1]


def _axes(scale: _LatencyScale) -> list[Html]:
    bottom = HEIGHT - BOTTOM
    lines = [level(scale.y(mark), f"{mark:g} ns") for mark in _marks(scale.low, scale.high)]
    first, last = (math.ceil(math.log2(scale.sizes[0])), math.floor(math.log2(scale.sizes[1])))
    sizes = [_size_mark(scale.x(1 << power), 1 << power) for power in range(first, last + 1, OCTAVES_A_MARK)]
    axis = tag("path", class_="axis", d=f"M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}")
    below = tag("text", "size of the array", x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 5, text_anchor="middle")
    return [*lines, *sizes, axis, below]


def _size_mark(x: float, size: int) -> Html:
    """The last one may be at the edge."""
    words = size_text(size)
    middle = min(x, WIDTH - LETTER * len(words) / 2)
    return tag("text", words, x=middle, y=HEIGHT - BOTTOM + 14, text_anchor="middle")


def size_text(size: int) -> str:
    unit, name = next((one for one in UNITS if size >= one[0]), UNITS[-1])
    return f"{size / unit:.4g} {name}"


def _staircase(stairs: Sequence[Stair], scale: _LatencyScale) -> list[Html]:
    """One line through all levels, and a label above each edge."""
    if not stairs:
        return []
    corners, labels = [], []
    left, free = float(scale.sizes[0]), 0.0
    for stair in stairs:
        right = min(max(float(stair.size or scale.sizes[1]), left), float(scale.sizes[1]))
        corners += [(scale.x(left), scale.y(stair.ns)), (scale.x(right), scale.y(stair.ns))]
        if stair.size is not None:
            words = f"{stair.name} {size_text(stair.size)}"
            half = LETTER * len(words) / 2
            x = max(min(scale.x(right), WIDTH - half), free + half)  # labels of near edges stand side by side
            free = x + half + 8
            labels.append(tag("text", words, x=x, y=TOP - 8, text_anchor="middle"))
            labels.append(tag("path", class_="grid", d=f"M{scale.x(right):.1f} {TOP}V{HEIGHT - BOTTOM}"))
        left = right
    return [*labels, tag("path", tag("title", "the machine file"), class_="ideal", d=path(corners))]


def _curve(curve: Curve, scale: _LatencyScale) -> Html:
    track = [(scale.x(size), scale.y(lowest)) for size, lowest, _ in curve.points]
    line = outline(path(track), curve.look, 1.2, tag("title", curve.name))
    bars, dots = [], []
    for (size, low, high), (x, y) in zip(curve.points, track, strict=True):
        bar = f"M{x:.1f} {y:.1f}V{scale.y(high):.1f}"
        bars.append(tag("path", d=bar, stroke="currentColor", opacity=0.5))
        told = f"{size_text(size)}: {low:.2f} ns, typically {high:.2f} ns"
        dots.append(marker(curve.look, x, y, 2, title=told))
    return tag("g", line, *bars, *dots, class_=colour_class(curve.look))
