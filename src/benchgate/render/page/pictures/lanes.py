"""The picture of a timeline: one lane for each CPU, with its workers and what the CPU did.

Takes lanes and the length of the axis; gives an SVG that is valid XML. Colour is not all that tells: workers
are numbered, work stands at the bottom of a lane and waiting on top of it. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchgate.render.page.html import Html, join, number, tag

WIDTH, LEFT, RIGHT, TOP = 360, 46, 8, 18
ROW, STRIP, GAP = 10, 16, 8
WORKERS, WORKED, SPUN = "s0", "s2", "s1"
"""Classes that set the colour (render/page/look.py)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One worker's bar. `moved`: it ended on another CPU, so only the time is certain."""

    worker: int
    begin: float
    end: float
    moved: bool
    title: str


@dataclass(frozen=True, slots=True)
class Steps:
    """Shares of 1 in columns from 0 on; the last one ends at `end`."""

    width: float
    end: float
    worked: tuple[float, ...]
    spun: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WorkerTrack:
    name: str
    pieces: tuple[Piece, ...]
    steps: Steps | None


def picture(lanes: Sequence[WorkerTrack], length: float, ends: tuple[str, str], label: str) -> Html:
    """`ends`: the texts at both ends of the axis. `label`: what a screen reader says."""
    y, body = float(TOP), []
    for lane in lanes:
        rows = _rows(lane.pieces)
        height = len(rows) * ROW + (STRIP if lane.steps else 0)
        body.append(_lane(lane, rows, y, _scale(length)))
        y += max(height, ROW) + GAP
    axis = tag("path", d=f"M{LEFT} {TOP - 4}V{number(y)}H{WIDTH - RIGHT}", class_="axis")
    begin = tag("text", ends[0], x=LEFT, y=10)
    end = tag("text", ends[1], x=WIDTH - RIGHT, y=10, text_anchor="end")
    grid = "".join(f"M{number(_scale(1)(part))} {TOP - 4}V{number(y)}" for part in (0.25, 0.5, 0.75, 1))
    inner = (tag("path", d=grid, class_="grid"), axis, begin, end, *body)
    return tag("svg", *inner, viewBox=f"0 0 {WIDTH} {number(y + 4)}", role="img", aria_label=label)


def _scale(length: float) -> Callable[[float], float]:
    return lambda time: LEFT + (WIDTH - LEFT - RIGHT) * time / (length or 1)


def _rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Workers that overlap are in rows below each other."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda one: (one.begin, one.worker)):
        for row in rows:
            if row[-1].end <= piece.begin:
                row.append(piece)
                break
        else:
            rows.append([piece])
    return rows


def _lane(lane: WorkerTrack, rows: Sequence[Sequence[Piece]], y: float, x: Callable[[float], float]) -> Html:
    name = tag("text", lane.name, x=LEFT - 6, y=y + 9, text_anchor="end")
    bars = [_bar(piece, y + ROW * at, x) for at, row in enumerate(rows) for piece in row]
    strip = _strip(lane.steps, y + ROW * len(rows), x) if lane.steps else None
    return join([name, *bars, strip])


def _bar(piece: Piece, y: float, x: Callable[[float], float]) -> Html:
    begin, wide = x(piece.begin), max(x(piece.end) - x(piece.begin), 1.5)
    paint: dict[str, str | float | None] = {"fill": "currentColor", "fill_opacity": 0.75}
    if piece.moved:
        paint = {"fill": "currentColor", "fill_opacity": 0.2, "stroke": "currentColor"}
        paint["stroke_dasharray"] = "3 2"
    box = tag("rect", tag("title", piece.title), x=begin, y=y, width=wide, height=ROW - 2, **paint)
    short = str(piece.worker)
    fits = wide > 7 * len(short) + 4
    said = tag("text", short, x=begin + 3, y=y + 7.5, class_="tiny strong") if fits else None
    return tag("g", box, said, class_=WORKERS)


def _strip(steps: Steps, y: float, x: Callable[[float], float]) -> Html:
    """Work from the bottom, waiting on top of it; what is left free is halted."""
    bottom = y + STRIP - 2
    work = _steps(steps, [0.0] * len(steps.worked), steps.worked, bottom, x)
    both = [a + b for a, b in zip(steps.worked, steps.spun, strict=True)]
    wait = _steps(steps, steps.worked, both, bottom, x)
    ground = tag("rect", x=x(0), y=y, width=x(steps.end) - x(0), height=STRIP - 2, class_="halted")
    return join([ground, _area(work, WORKED), _area(wait, SPUN)])


def _area(path: str, colour: str) -> Html | None:
    return tag("path", d=path, fill="currentColor", class_=colour) if path else None


def _steps(
    steps: Steps,
    low: Sequence[float],
    high: Sequence[float],
    bottom: float,
    x: Callable[[float], float],
) -> str:
    """One closed box for each stretch of equal columns; heights are whole pixels."""
    levels = [
        (round(bottom - a * (STRIP - 2)), round(bottom - b * (STRIP - 2)))
        for a, b in zip(low, high, strict=True)
    ]
    path, since = [], 0
    for at in range(1, len(levels) + 1):
        if at < len(levels) and levels[at] == levels[since]:
            continue
        floor, top = levels[since]
        if top < floor:
            left, right = x(since * steps.width), x(min(at * steps.width, steps.end))
            path.append(f"M{number(left)} {floor}V{top}H{number(right)}V{floor}z")
        since = at
    return "".join(path)
