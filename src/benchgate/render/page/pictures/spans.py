"""Figures with their intervals, one below the other, on one axis that may go below zero.

Takes spans and levels to compare them with; gives an SVG. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchgate.render.page.html import Html, tag
from benchgate.render.page.look import colour_class, marker
from benchgate.render.page.pictures.frame import LETTER, WIDTH, named, picture, ticks, upright

TOP, ROW, BOTTOM, EDGE = 6, 19, 22, 14


@dataclass(frozen=True, slots=True)
class ValueSpan:
    look: int
    name: str
    value: float
    low: float | None = None
    high: float | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Spans:
    title: str
    spans: tuple[ValueSpan, ...]
    levels: tuple[tuple[float, str], ...] = ()
    """Dashed lines: a value and what it is."""
    least: float = 0.0
    most: float = 0.0
    """The axis has at least these."""


def draw(of: Spans, shown: Callable[[float], str]) -> Html:
    ends = [end for span in of.spans for end in (span.value, span.low, span.high) if end is not None]
    values = [*ends, *(value for value, _ in of.levels), of.least, of.most]
    marks = ticks(min(values), max(values), 4)
    left = room([span.name for span in of.spans])
    bottom = TOP + ROW * len(of.spans)

    def x(value: float) -> float:
        return left + (WIDTH - left - EDGE) * (value - marks[0]) / (marks[-1] - marks[0])

    grid = [upright(x(mark), TOP, bottom, shown(mark)) for mark in marks]
    levels = [
        tag("path", tag("title", name), class_="ideal", d=f"M{x(value):.1f} {TOP}V{bottom}")
        for value, name in of.levels
    ]
    rows = [_span(span, TOP + ROW * (n + 0.5), left, x) for n, span in enumerate(of.spans)]
    return picture(of.title, bottom + BOTTOM, *grid, *levels, *rows)


def room(names: Sequence[str]) -> float:
    """Left of the axis, for names of this length."""
    return min(30 + LETTER * max((len(name) for name in names), default=0), 0.6 * WIDTH)


def _span(span: ValueSpan, y: float, left: float, x: Callable[[float], float]) -> Html:
    parts = [named(span.name, left - 10, y + 4, left - 10)]
    if span.low is not None and span.high is not None:
        low, high = x(span.low), x(span.high)
        ends = f"M{low:.1f} {y - 4:.1f}v8M{low:.1f} {y:.1f}H{high:.1f}M{high:.1f} {y - 4:.1f}v8"
        parts.append(tag("path", d=ends, stroke="currentColor", stroke_width=1.5))
    parts.append(marker(span.look, x(span.value), y, 4, title=span.title))
    return tag("g", *parts, class_=colour_class(span.look))
