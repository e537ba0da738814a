"""Bars of stacked parts, one for each arm: for example what the total window has beyond the work window.

Takes bars with their parts; gives an SVG. Each kind of part has a pattern of its own beside its shade. Does
not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchgate.render.page.html import Html, tag
from benchgate.render.page.look import colour_class, marker
from benchgate.render.page.pictures.frame import WIDTH, picture, ticks

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
    most = max([sum(length for _, length in bar.parts) for bar in bars] + [1e-9])
    marks = ticks(0.0, most, 4)
    scale = _BarScale(left, marks[-1])
    bottom = TOP + ROW * len(bars)
    axis = [_mark(mark, scale, bottom, shown) for mark in marks]
    drawn = (_bar(bar, TOP + ROW * row, scale) for row, bar in enumerate(bars))
    return picture(title, bottom + 20, *axis, *drawn)


@dataclass(frozen=True, slots=True)
class _BarScale:
    left: float
    most: float

    def x(self, value: float) -> float:
        return self.left + (WIDTH - self.left - RIGHT) * value / self.most


def _mark(value: float, scale: _BarScale, bottom: float, shown: Callable[[float], str]) -> Html:
    x = scale.x(value)
    line = tag("path", class_="grid", d=f"M{x:.1f} {TOP}V{bottom}")
    return tag("g", line, tag("text", shown(value), x=x, y=bottom + 14, text_anchor="middle"))


def _bar(bar: Bar, top: float, scale: _BarScale) -> Html:
    drawn = []
    begin = 0.0
    for shade, (kind, length) in zip(SHADES, bar.parts, strict=False):
        left, right = scale.x(begin), scale.x(begin + length)
        drawn.append(
            tag(
                "rect",
                tag("title", f"{bar.name}: {kind}"),
                x=left,
                y=top + 2,
                width=max(right - left, 0.3),
                height=ROW - 5,
                fill="currentColor",
                fill_opacity=shade,
                stroke="currentColor",
                stroke_width=0.6,
            )
        )
        begin += length
    mark = marker(bar.look, scale.left - 9, top + ROW / 2, 4)
    name = tag("text", bar.name, x=scale.left - 18, y=top + ROW - 5, text_anchor="end")
    figure = tag("text", bar.shown, x=scale.x(begin) + 4, y=top + ROW - 5)
    return tag("g", name, mark, figure, *drawn, class_=colour_class(bar.look))
