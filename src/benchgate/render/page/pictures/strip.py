"""A strip of runs in the order of execution, with a lane of bars below it for each detector.

Takes marks and lanes; gives SVGs of at most `MOST` runs each, which fit a phone. A void run is a hollow mark
with a bar through it, a broken one a cross at the bottom. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from benchgate.render.page.html import Html, tag
from benchgate.render.page.look import colour_class, marker
from benchgate.render.page.pictures.frame import WIDTH, level, picture, ticks

MOST = 40
LEAST, MOST_VALUE = 0.0, 3.0
"""The scale ends here at most; what lies beyond is drawn at its edge."""
NUMBERED = 10
"""Every so many runs have their number below them."""
PITCH = 6.5
LEFT, TOP, HIGH, LANE, FOOT = 84, 10, 110, 26, 18


class StripState(Enum):
    COUNTS = auto()
    WARMUP = auto()
    VOID = auto()
    BROKEN = auto()


@dataclass(frozen=True, slots=True)
class StripPoint:
    number: int
    """The run's number in its folder."""
    look: int
    value: float | None
    """Its figure divided by its arm's median; None for a run without a figure."""
    state: StripState
    title: str


@dataclass(frozen=True, slots=True)
class Bars:
    """One detector: a value per mark, None where the host did not offer it."""

    name: str
    values: tuple[float | None, ...]
    shown: tuple[str, ...]
    least: float
    """The smallest full scale, so that next to nothing is drawn as that."""
    above: tuple[bool, ...]
    """Whether the policy calls a run void for it."""


def draw(title: str, marks: Sequence[StripPoint], lanes: Sequence[Bars]) -> Iterator[tuple[str, Html]]:
    """Gives pairs (which runs, picture). All pictures have the same scale."""
    values = [min(max(mark.value, LEAST), MOST_VALUE) for mark in marks if mark.value is not None]
    levels = ticks(min([*values, 0.98]), max([*values, 1.02]), 4)
    for start in range(0, len(marks), MOST):
        part = marks[start : start + MOST]
        name = f"runs {part[0].number} to {part[-1].number}"
        below = [Html("").join(_lane(lane, start, n)) for n, lane in enumerate(lanes)]
        height = TOP + HIGH + FOOT + LANE * len(lanes)
        drawn = [*_axis(part, levels), *_marks(part, levels), *map(Html, below)]
        yield name, picture(f"{title}, {name}", height, *drawn)


def _x(place: int) -> float:
    return LEFT + PITCH * (place + 0.75)


def _y(value: float, levels: Sequence[float]) -> float:
    part = (min(max(value, levels[0]), levels[-1]) - levels[0]) / (levels[-1] - levels[0])
    return TOP + HIGH * (1 - part)


def _axis(part: Sequence[StripPoint], levels: Sequence[float]) -> Iterator[Html]:
    for one in levels:
        yield level(_y(one, levels), f"{100 * one:.4g}%", LEFT)
    for place in range(0, len(part), NUMBERED):
        number = str(part[place].number)
        yield tag("text", number, x=_x(place), y=TOP + HIGH + 13, text_anchor="middle")


def _marks(part: Sequence[StripPoint], levels: Sequence[float]) -> Iterator[Html]:
    for place, one in enumerate(part):
        x = _x(place)
        if one.value is None or one.state is StripState.BROKEN:
            y: float = TOP + HIGH - 4
            cross = f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6"
            yield tag(
                "path", tag("title", one.title), class_="bad", d=cross, stroke="currentColor", stroke_width=2
            )
            continue
        y = _y(one.value, levels)
        hollow = one.state is not StripState.COUNTS
        kind = {StripState.VOID: "void", StripState.WARMUP: "soft"}.get(one.state, colour_class(one.look))
        line = tag("path", d=f"M{x:.1f} {TOP}V{TOP + HIGH}", stroke="currentColor", opacity=0.5)
        mark = marker(one.look, x, y, 2.6, hollow=hollow, title=one.title)
        yield tag("g", line if one.state is StripState.VOID else None, mark, class_=kind)


def _lane(lane: Bars, start: int, number: int) -> Iterator[Html]:
    bottom = TOP + HIGH + FOOT + LANE * (number + 1) - 4
    most = max([value for value in lane.values if value is not None] + [lane.least])
    high = LANE - 8
    yield tag("text", lane.name, x=LEFT - 5, y=bottom - 5, text_anchor="end")
    yield tag("path", class_="grid", d=f"M{LEFT} {bottom}H{WIDTH - 8}")
    for place, value in enumerate(lane.values[start : start + MOST]):
        if not value:
            continue
        tall = max(high * value / most, 1)
        x, y = _x(place) - PITCH / 2 + 0.8, bottom - tall
        yield tag(
            "rect",
            tag("title", lane.shown[start + place]),
            x=x,
            y=y,
            width=PITCH - 1.6,
            height=tall,
            fill="currentColor",
            class_="void" if lane.above[start + place] else "soft",
        )
