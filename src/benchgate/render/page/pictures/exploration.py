"""The pictures of an exploration: its runs in their order, and what each CPU executed around a stall.

Takes dots; gives an SVG with a mark for each run at its length, and crosses on top for those that went wrong.
Takes stretches of time; gives an SVG with a lane for each CPU, by guest time, with the names of functions. A
stopped CPU is a hatched box with its name, so that colour is not all that tells. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchgate.render.page.html import Html, tag
from benchgate.render.page.look import colour_class, marker
from benchgate.render.page.pictures.frame import RIGHT, WIDTH, level, picture, ticks

RUNS_LEFT, RUNS_TOP, HIGH, CROSSES, RUNS_FOOT = 56, 8, 120, 16, 30
LANES_WIDTH, LANES_LEFT, LANES_RIGHT, LANES_TOP, LANE, GAP, LANES_FOOT = 720, 52, 12, 8, 30, 10, 34
LETTER = 6.2
NARROW = 1.5
"""Nothing is drawn narrower, so that one instruction can be seen."""


@dataclass(frozen=True, slots=True)
class Dot:
    number: int
    look: int
    value: float | None
    """None: it went wrong."""
    title: str


def draw_runs(title: str, dots: Sequence[Dot], shown: Callable[[float], str], below: str) -> Html:
    values = [dot.value for dot in dots if dot.value is not None] or [0.0, 1.0]
    marks = ticks(min(values), max(values), 4)
    last = max((dot.number for dot in dots), default=1)
    numbers = [tick for tick in ticks(0, max(last, 1), 5) if tick <= last]
    floor = RUNS_TOP + CROSSES + HIGH

    def x(number: float) -> float:
        return RUNS_LEFT + (WIDTH - RIGHT - RUNS_LEFT - 6) * number / max(last, 1)

    def y(value: float) -> float:
        return floor - HIGH * (value - marks[0]) / (marks[-1] - marks[0])

    axis = [level(y(one), shown(one), RUNS_LEFT) for one in marks]
    axis += [tag("text", f"{one:g}", x=x(one), y=floor + 13, text_anchor="middle") for one in numbers]
    axis += [tag("text", below, x=(RUNS_LEFT + WIDTH) / 2, y=floor + 26, text_anchor="middle")]
    drawn = []
    for dot in dots:
        if dot.value is None:
            cross = f"M{x(dot.number) - 3:.1f} {RUNS_TOP + 3}l6 6m0 -6l-6 6"
            mark = tag("path", tag("title", dot.title), d=cross, stroke="currentColor", stroke_width=2)
            drawn.append(tag("g", mark, class_="bad"))
        else:
            mark = marker(dot.look, x(dot.number), y(dot.value), 2, title=dot.title)
            drawn.append(tag("g", mark, class_=colour_class(dot.look)))
    return picture(title, floor + RUNS_FOOT, *axis, *drawn)


@dataclass(frozen=True, slots=True)
class Stretch:
    lane: int
    begin: float
    end: float
    name: str
    """Empty: the CPU was stopped."""
    title: str


def draw_lanes(title: str, stretches: Sequence[Stretch], shown: Callable[[float], str]) -> Html:
    low = min((stretch.begin for stretch in stretches), default=0.0)
    high = max((stretch.end for stretch in stretches), default=1.0)
    lanes = sorted({stretch.lane for stretch in stretches})
    looks = {
        name: n for n, name in enumerate(dict.fromkeys(stretch.name for stretch in stretches if stretch.name))
    }
    floor = LANES_TOP + (LANE + GAP) * len(lanes)

    def x(time: float) -> float:
        return LANES_LEFT + (LANES_WIDTH - LANES_LEFT - LANES_RIGHT) * (time - low) / ((high - low) or 1)

    marks = [tick for tick in ticks(0, high - low, 6) if tick <= high - low]
    axis = [
        tag(
            "g",
            tag("path", class_="grid", d=f"M{x(low + mark):.1f} {LANES_TOP}V{floor}"),
            tag("text", shown(mark), x=x(low + mark), y=floor + 14, text_anchor="middle"),
        )
        for mark in marks
    ]
    names = [
        tag("text", f"CPU {lane}", x=LANES_LEFT - 8, y=_lane_top(n) + LANE / 2 + 4, text_anchor="end")
        for n, lane in enumerate(lanes)
    ]
    boxes = [
        _stretch(stretch, _lane_top(lanes.index(stretch.lane)), looks.get(stretch.name, 0), x)
        for stretch in stretches
    ]
    below = tag(
        "text", "ns of guest time", x=(LANES_LEFT + LANES_WIDTH) / 2, y=floor + 29, text_anchor="middle"
    )
    return picture(title, floor + LANES_FOOT, *axis, *names, *boxes, below, width=LANES_WIDTH)


def _lane_top(lane: int) -> float:
    return LANES_TOP + (LANE + GAP) * lane


def _stretch(stretch: Stretch, top: float, look: int, x: Callable[[float], float]) -> Html:
    left, wide = x(stretch.begin), max(x(stretch.end) - x(stretch.begin), NARROW)
    paint: dict[str, str | float | None] = {
        "fill": "currentColor",
        "fill_opacity": 0.22,
        "stroke": "currentColor",
    }
    if not stretch.name:
        paint |= {"fill": "none", "stroke_dasharray": "4 3", "stroke_width": 1.5}
    box = tag("rect", tag("title", stretch.title), x=left, y=top, width=wide, height=LANE, rx=2, **paint)
    said = stretch.name or "stopped"
    fits = wide > LETTER * len(said) + 6
    text = tag("text", said, x=left + wide / 2, y=top + LANE / 2 + 4, text_anchor="middle", class_="strong")
    return tag("g", box, text if fits else None, class_=colour_class(look) if stretch.name else "bad")
