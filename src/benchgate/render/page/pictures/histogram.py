"""Histograms on a logarithmic axis, the outlines of several systems over each other.

Takes columns; gives an SVG. Does not fail: shapes without values are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchgate.render.page.html import Html, tag
from benchgate.render.page.look import colour_class, dash, marker
from benchgate.render.page.pictures.frame import LEFT, RIGHT, TOP, WIDTH, level, path, picture, ticks

HEIGHT, BOTTOM = 170, 24
EDGE = 24
"""No value is written below the axis so near to the right edge: it would leave the picture."""


@dataclass(frozen=True, slots=True)
class HistogramShape:
    look: int
    name: str
    columns: tuple[tuple[float, float, int], ...]
    """Tuples of (from, to, how many values), ascending."""
    count: int


@dataclass(frozen=True, slots=True)
class _HistogramScale:
    low: float
    high: float
    """Powers of two."""
    marks: tuple[float, ...]

    def x(self, value: float) -> float:
        part = (math.log2(max(value, 2**self.low)) - self.low) / (self.high - self.low)
        return LEFT + (WIDTH - LEFT - RIGHT) * min(part, 1.0)

    def y(self, share: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share / self.marks[-1]


def draw(title: str, shapes: Sequence[HistogramShape], shown: Callable[[float], str]) -> Html:
    filled = [shape for shape in shapes if shape.count and shape.columns]
    if not filled:
        return picture(title, HEIGHT)
    scale = _scale(filled)
    levels = [level(scale.y(mark), f"{100 * mark:.3g}%") for mark in scale.marks]
    bottom = HEIGHT - BOTTOM
    step = max(math.ceil((scale.high - scale.low) / 5), 1)
    powers = range(math.ceil(scale.low), math.floor(scale.high) + 1, step)
    places = [
        tag("text", shown(2.0**power), x=scale.x(2.0**power), y=bottom + 15, text_anchor="middle")
        for power in powers
        if scale.x(2.0**power) <= WIDTH - RIGHT - EDGE
    ]
    axis = tag("path", class_="axis", d=f"M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}")
    return picture(title, HEIGHT, *levels, *places, axis, *(_outline(one, scale) for one in filled))


def _scale(shapes: Sequence[HistogramShape]) -> _HistogramScale:
    columns = [column for shape in shapes for column in shape.columns]
    low = math.floor(math.log2(max(min(column[0] for column in columns), 1.0)))
    high = math.ceil(math.log2(max(column[1] for column in columns)))
    most = max(count / shape.count for shape in shapes for _, _, count in shape.columns)
    return _HistogramScale(float(low), float(max(high, low + 1)), ticks(0.0, most, 4))


def _outline(shape: HistogramShape, scale: _HistogramScale) -> Html:
    before = shape.columns[0][0]
    points = [(scale.x(before), scale.y(0))]
    for left, right, count in shape.columns:
        if left > before * (1 + 1e-9):
            points += [(scale.x(before), scale.y(0)), (scale.x(left), scale.y(0))]
        points += [
            (scale.x(left), scale.y(count / shape.count)),
            (scale.x(right), scale.y(count / shape.count)),
        ]
        before = right
    points.append((scale.x(before), scale.y(0)))
    line = tag(
        "path",
        tag("title", shape.name),
        d=path(points),
        fill="currentColor",
        fill_opacity=0.12,
        stroke="currentColor",
        stroke_width=1.3,
        stroke_dasharray=dash(shape.look),
    )
    left, right, count = max(shape.columns, key=lambda column: column[2])
    peak = marker(
        shape.look, (scale.x(left) + scale.x(right)) / 2, scale.y(count / shape.count), 4, title=shape.name
    )
    return tag("g", line, peak, class_=colour_class(shape.look))
