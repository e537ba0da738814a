"""Runs in the order of their numbers, each a mark at its length; those that went wrong are crosses on top.

Takes dots; gives an SVG. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchgate.render.page.html import Html, tag
from benchgate.render.page.look import colour_class, marker
from benchgate.render.page.pictures.frame import RIGHT, WIDTH, level, picture, ticks

LEFT, TOP, HIGH, CROSSES, FOOT = 56, 8, 120, 16, 30


@dataclass(frozen=True, slots=True)
class Dot:
    number: int
    look: int
    value: float | None
    """None: it went wrong."""
    title: str


def draw(title: str, dots: Sequence[Dot], shown: Callable[[float], str], below: str) -> Html:
    values = [one.value for one in dots if one.value is not None] or [0.0, 1.0]
    marks = ticks(min(values), max(values), 4)
    last = max((one.number for one in dots), default=1)
    numbers = [one for one in ticks(0, max(last, 1), 5) if one <= last]
    floor = TOP + CROSSES + HIGH

    def x(number: float) -> float:
        return LEFT + (WIDTH - RIGHT - LEFT - 6) * number / max(last, 1)

    def y(value: float) -> float:
        return floor - HIGH * (value - marks[0]) / (marks[-1] - marks[0])

    axis = [level(y(one), shown(one), LEFT) for one in marks]
    axis += [tag("text", f"{one:g}", x=x(one), y=floor + 13, text_anchor="middle") for one in numbers]
    axis += [tag("text", below, x=(LEFT + WIDTH) / 2, y=floor + 26, text_anchor="middle")]
    drawn = []
    for one in dots:
        if one.value is None:
            cross = f"M{x(one.number) - 3:.1f} {TOP + 3}l6 6m0 -6l-6 6"
            mark = tag("path", tag("title", one.title), d=cross, stroke="currentColor", stroke_width=2)
            drawn.append(tag("g", mark, class_="bad"))
        else:
            mark = marker(one.look, x(one.number), y(one.value), 2, title=one.title)
            drawn.append(tag("g", mark, class_=colour_class(one.look)))
    return picture(title, floor + FOOT, *axis, *drawn)
