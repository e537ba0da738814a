"""Figures with their intervals, one below the other, on one axis that may go below zero.

Takes spans and levels to compare them with; gives an SVG. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchgate.render.page.html import Html, tag
from benchgate.render.page.look import colour_class, marker
from benchgate.render.page.pictures.frame import WIDTH, picture, ticks

TOP, ROW, BOTTOM, EDGE, LETTER = 6, 19, 22, 14, 6.0


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
    ends = [end for one in of.spans for end in (one.value, one.low, one.high) if end is not None]
    values = [*ends, *(value for value, _ in of.levels), of.least, of.most]
    marks = ticks(min(values), max(values), 4)
    left = room([one.name for one in of.spans])
    bottom = TOP + ROW * len(of.spans)

    def x(value: float) -> float:
        return left + (WIDTH - left - EDGE) * (value - marks[0]) / (marks[-1] - marks[0])

    grid = [_mark(x(one), bottom, "grid", shown(one)) for one in marks]
    levels = [
        tag("path", tag("title", name), class_="ideal", d=f"M{x(value):.1f} {TOP}V{bottom}")
        for value, name in of.levels
    ]
    rows = [_span(one, TOP + ROW * (n + 0.5), left, x) for n, one in enumerate(of.spans)]
    return picture(of.title, bottom + BOTTOM, *grid, *levels, *rows)


def room(names: Sequence[str]) -> float:
    """Left of the axis, for names of this length."""
    return min(30 + LETTER * max((len(one) for one in names), default=0), 0.6 * WIDTH)


def _mark(x: float, bottom: float, kind: str, words: str) -> Html:
    line = tag("path", class_=kind, d=f"M{x:.1f} {TOP}V{bottom}")
    return tag("g", line, tag("text", words, x=x, y=bottom + 14, text_anchor="middle"))


def _span(one: ValueSpan, y: float, left: float, x: Callable[[float], float]) -> Html:
    parts = [tag("text", one.name, x=left - 10, y=y + 4, text_anchor="end")]
    if one.low is not None and one.high is not None:
        low, high = x(one.low), x(one.high)
        ends = f"M{low:.1f} {y - 4:.1f}v8M{low:.1f} {y:.1f}H{high:.1f}M{high:.1f} {y - 4:.1f}v8"
        parts.append(tag("path", d=ends, stroke="currentColor", stroke_width=1.5))
    parts.append(marker(one.look, x(one.value), y, 4, title=one.title))
    return tag("g", *parts, class_=colour_class(one.look))
