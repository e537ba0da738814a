"""What each CPU executed around a stall: a lane for each, by guest time, with the names of functions.

Takes stretches of time; gives an SVG. A stopped CPU is a hatched box with its name, so that colour is not all
that tells. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchgate.render.page.html import Html, tag
from benchgate.render.page.look import colour_class
from benchgate.render.page.pictures.frame import picture, ticks

WIDTH, LEFT, RIGHT, TOP, LANE, GAP, FOOT = 720, 52, 12, 8, 30, 10, 34
LETTER = 6.2
NARROW = 1.5
"""Nothing is drawn narrower, so that one instruction can be seen."""


@dataclass(frozen=True, slots=True)
class Stretch:
    lane: int
    begin: float
    end: float
    name: str
    """Empty: the CPU was stopped."""
    title: str


def draw(title: str, stretches: Sequence[Stretch], shown: Callable[[float], str]) -> Html:
    low = min((one.begin for one in stretches), default=0.0)
    high = max((one.end for one in stretches), default=1.0)
    lanes = sorted({one.lane for one in stretches})
    looks = {name: n for n, name in enumerate(dict.fromkeys(one.name for one in stretches if one.name))}
    floor = TOP + (LANE + GAP) * len(lanes)

    def x(time: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (time - low) / ((high - low) or 1)

    marks = [one for one in ticks(0, high - low, 6) if one <= high - low]
    axis = [
        tag(
            "g",
            tag("path", class_="grid", d=f"M{x(low + one):.1f} {TOP}V{floor}"),
            tag("text", shown(one), x=x(low + one), y=floor + 14, text_anchor="middle"),
        )
        for one in marks
    ]
    names = [
        tag("text", f"CPU {lane}", x=LEFT - 8, y=_top(n) + LANE / 2 + 4, text_anchor="end")
        for n, lane in enumerate(lanes)
    ]
    boxes = [_box(one, _top(lanes.index(one.lane)), looks.get(one.name, 0), x) for one in stretches]
    below = tag("text", "ns of guest time", x=(LEFT + WIDTH) / 2, y=floor + 29, text_anchor="middle")
    return picture(title, floor + FOOT, *axis, *names, *boxes, below, width=WIDTH)


def _top(lane: int) -> float:
    return TOP + (LANE + GAP) * lane


def _box(one: Stretch, top: float, look: int, x: Callable[[float], float]) -> Html:
    left, wide = x(one.begin), max(x(one.end) - x(one.begin), NARROW)
    paint: dict[str, str | float | None] = {
        "fill": "currentColor",
        "fill_opacity": 0.22,
        "stroke": "currentColor",
    }
    if not one.name:
        paint |= {"fill": "none", "stroke_dasharray": "4 3", "stroke_width": 1.5}
    box = tag("rect", tag("title", one.title), x=left, y=top, width=wide, height=LANE, rx=2, **paint)
    said = one.name or "stopped"
    fits = wide > LETTER * len(said) + 6
    text = tag("text", said, x=left + wide / 2, y=top + LANE / 2 + 4, text_anchor="middle", class_="strong")
    return tag("g", box, text if fits else None, class_=colour_class(look) if one.name else "bad")
