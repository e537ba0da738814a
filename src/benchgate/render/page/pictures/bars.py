"""Bars of stacked parts, one for each arm: for example what the total window has beyond the work window.

Takes bars with their parts; gives an SVG. Bars that differ by more than ten times have each a scale of its
own. Each kind of part has a pattern of its own beside its shade. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchgate.render.page.html import Html, rect, tag
from benchgate.render.page.look import colour_class, marker
from benchgate.render.page.pictures.frame import WIDTH, are_apart, named, picture, ticks, upright

LEFT, RIGHT, TOP, ROW = 70, 56, 6, 17
SHADES = (0.9, 0.45)


@dataclass(frozen=True, slots=True)
class Bar:
    look: int
    name: str
    parts: tuple[tuple[str, float], ...]
    """(kind, length), at most two."""
    shown: str


def draw(title: str, bars: Sequence[Bar], shown: Callable[[float], str], left: float = LEFT) -> Html:
    """`left`: the room for the names."""
    tops = [sum(length for _, length in bar.parts) for bar in bars]
    bottom, marks = TOP + ROW * len(bars), ticks(0.0, max([*tops, 1e-9]), 4)
    scales = tops if are_apart(tops) else [marks[-1]] * len(bars)
    drawn = [_bar(bar, TOP + ROW * row, left, _axis(left, scales[row])) for row, bar in enumerate(bars)]
    if are_apart(tops):
        note = tag("text", "each bar has a scale of its own", x=left, y=bottom + 14)
        return picture(title, bottom + 20, *drawn, note)
    x = _axis(left, marks[-1])
    axis = [upright(x(mark), TOP, bottom, shown(mark)) for mark in marks]
    return picture(title, bottom + 20, *axis, *drawn)


def _axis(left: float, most: float) -> Callable[[float], float]:
    return lambda value: left + (WIDTH - left - RIGHT) * value / (most or 1.0)


def _bar(bar: Bar, top: float, left: float, x: Callable[[float], float]) -> Html:
    drawn, begin = [], 0.0
    for shade, (kind, length) in zip(SHADES, bar.parts, strict=False):
        told = tag("title", f"{bar.name}: {kind}")
        wide = max(x(begin + length) - x(begin), 0.3)
        paint: dict[str, str | float] = {"fill": "currentColor", "fill_opacity": shade}
        paint |= {"stroke": "currentColor", "stroke_width": 0.6}
        drawn.append(rect(x(begin), top + 2, wide, ROW - 5, told, **paint))
        begin += length
    mark = marker(bar.look, left - 9, top + ROW / 2, 4)
    name = named(bar.name, left - 18, top + ROW - 5, left - 18)
    figure = tag("text", bar.shown, x=x(begin) + 4, y=top + ROW - 5)
    return tag("g", name, mark, figure, *drawn, class_=colour_class(bar.look))
