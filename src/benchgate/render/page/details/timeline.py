"""Timelines: the workers of the median and of the slowest run of each cell by CPU, and what each vCPU did.

Takes a PageView; gives the part, or None without any timeline. The picture has a lane for each CPU. Colour is
not all that tells: workers are numbered, work stands at the bottom of a lane and waiting on top of it. Does
not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from benchgate.base.text import counted
from benchgate.insn.activity import Activity, Wakes
from benchgate.judge.accounts.timeline import Timeline, WorkerSpan
from benchgate.render.page.html import Child, Html, join, number, tag
from benchgate.render.page.page_view import PageView
from benchgate.render.page.tables import NOTHING, commands, cut_of, figure, more, run_folder, table
from benchgate.render.tables import units
from benchgate.render.view import SessionView

TITLE = "Timelines by CPU"
ORDER = 60
IS_PICTURE = False

MOST_BYTES = 260_000
"""The most bytes of all pictures of a session; cells for which nothing is left are named."""
MOST_LANES = 64
MOST_ROWS, MOST_COLUMNS = 17, 16
APART = 1.05
"""A cell is open at once if its slowest run takes more than so many times the median."""


TOLD = (
    "The median and the slowest run of each cell, on one scale: the total window, from its begin to its "
    "end. Workers are as the guest reported them, by their number; a dashed one ended on another CPU than it "
    "began on. What a vCPU did is known on the instruction clock only, in up to 200 columns: below, it "
    "executes; on top, it executes loops that only wait; free, it is halted."
)


def about(page: PageView) -> str:
    return TOLD if page.view.timelines else ""


def body(page: PageView) -> Html | None:
    cells = [list(of) for _, of in groupby(page.view.timelines, key=lambda timeline: timeline.cell)]
    if not cells:
        return None
    cells.sort(key=lambda of: -of[0].cpus)  # if something has to be left out, then what is least to see
    shown = [(of[0].cell, _cell(page.view, of, is_open=of[-1].share > APART)) for of in cells]
    drawn, cut = page.fitting(shown, MOST_BYTES)
    return join([_legend(page.view.timelines) if drawn else None, *map(Html, drawn), cut_of(cut)])


def _legend(every: Sequence[Timeline]) -> Html:
    entries = [_key(WORKERS, "worker")]
    if any(timeline.activity for timeline in every):
        entries += [_key(WORKED, "executes"), _key(SPUN, "only waits"), _key("halted", "halted")]
    return tag("ul", *entries, class_="legend")


def _key(colour: str, name: str) -> Html:
    paint = {"class_": colour} if colour == "halted" else {"fill": "currentColor"}
    box = tag("rect", x=1, y=3, width=14, height=10, **paint)
    svg = tag("svg", box, viewBox="0 0 16 16", width=16, height=16, class_=colour, aria_hidden="true")
    return tag("li", svg, tag("span", name))


def _cell(view: SessionView, of: Sequence[Timeline], *, is_open: bool) -> Html:
    slowest = of[-1]
    told = f"{slowest.cell}: {_length(of[0].work, of[0].unit)}"
    if len(of) > 1:
        told += f", slowest {slowest.share:.2f} times the median"
    longest = max(timeline.length for timeline in of)
    figures = tag("div", *(_figure(timeline, longest) for timeline in of), class_="panels")
    paste = [f"benchgate timeline {run_folder(view, timeline.folder)}" for timeline in of]
    if slowest.seed is not None:
        paste.append(f"benchgate replay {run_folder(view, slowest.folder)} --timeline --flame")
    tables = [made for made in map(_wakes, of) if made is not None]
    woke = more("Who woke whom", tag("div", *tables, class_="panels")) if tables else None
    return more(told, figures, woke, commands(*paste), is_open=is_open)


def _figure(timeline: Timeline, longest: float) -> Html:
    seed = "" if timeline.seed is None else f", seed {timeline.seed}"
    caption = f"{timeline.which} run {timeline.run:04}{seed}: work {_length(timeline.work, timeline.unit)}"
    if not timeline.workers:
        caption += "; from the start of the guest to its end, because it executes no marks"
    lanes = _lanes(timeline)
    if len(lanes) > MOST_LANES:
        caption += f"; the first {MOST_LANES} of {counted(len(lanes), 'CPU')}"
    label = f"{timeline.cell}, {timeline.which} run: " + "; ".join(
        f"worker {bar.worker} on CPU {bar.cpu} from {bar.begin} to {bar.end}" for bar in timeline.workers[:8]
    )
    ends = ("0", _length(longest, timeline.unit))
    return figure(picture(lanes[:MOST_LANES], longest, ends, label), caption)


def _length(length: float, unit: str) -> str:
    """An instruction is a nanosecond of the guest."""
    return units.shown(length, "ns" if unit == "insn" else unit)


def _lanes(timeline: Timeline) -> list[WorkerTrack]:
    """A native worker's CPUs are the host's, so the others are not shown."""
    vcpus = timeline.activity.vcpus if timeline.activity else ()
    seen = {bar.cpu for bar in timeline.workers}
    guest = range(timeline.cpus) if max(seen, default=0) < timeline.cpus else ()
    every = seen.union(range(len(vcpus)), guest)
    return [
        WorkerTrack(
            f"CPU {cpu}",
            tuple(_piece(bar, timeline.unit) for bar in timeline.workers if bar.cpu == cpu),
            _steps(timeline.activity, cpu) if timeline.activity and cpu < len(vcpus) else None,
        )
        for cpu in sorted(every)
    ]


def _piece(bar: WorkerSpan, unit: str) -> Piece:
    moved = bar.cpu != bar.cpu_end
    told = f"worker {bar.worker}: {_length(bar.end - bar.begin, unit)} from {_length(bar.begin, unit)}"
    told += f", began on CPU {bar.cpu}, ended on CPU {bar.cpu_end}" if moved else f" on CPU {bar.cpu}"
    return Piece(bar.worker, bar.begin, bar.end, moved, told)


def _steps(activity: Activity, cpu: int) -> Steps:
    columns = activity.vcpus[cpu]
    return Steps(
        activity.width,
        activity.end - activity.begin,
        tuple(column.worked for column in columns),
        tuple(column.spun for column in columns),
    )


def _wakes(timeline: Timeline) -> Html | None:
    """A table of who woke whom: a row for each waker, a column for each CPU; of many CPUs the first ones."""
    wakes = timeline.activity.wakes if timeline.activity else ()
    if not wakes:
        return None
    pairs = {(pair.by, pair.target): pair for pair in wakes}
    targets = sorted({pair.target for pair in wakes})[:MOST_COLUMNS]
    wakers = sorted({pair.by for pair in wakes}, key=lambda by: -1 if by is None else by)[:MOST_ROWS]
    rows: list[list[Child]] = [
        [_waker(by), *(_times(pairs.get((by, target))) for target in targets)] for by in wakers
    ]
    caption = (
        f"{timeline.which} run {timeline.run:04}: woke it while it was halted / interrupted it while it ran"
    )
    is_cut = len(pairs) > sum((by, target) in pairs for by in wakers for target in targets)
    caption += "; only a part, the rest is in clock.log" if is_cut else ""
    return table(caption, ("by", *(f"CPU {target}" for target in targets)), rows)


def _waker(by: int | None) -> str:
    return "a timer or device" if by is None else f"CPU {by}"


def _times(pair: Wakes | None) -> str:
    return NOTHING if pair is None else f"{pair.wakes:,} / {pair.interrupts:,}"


# ---- the picture

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
    work = _stacked(steps, [0.0] * len(steps.worked), steps.worked, bottom, x)
    both = [a + b for a, b in zip(steps.worked, steps.spun, strict=True)]
    wait = _stacked(steps, steps.worked, both, bottom, x)
    ground = tag("rect", x=x(0), y=y, width=x(steps.end) - x(0), height=STRIP - 2, class_="halted")
    return join([ground, _area(work, WORKED), _area(wait, SPUN)])


def _area(path: str, colour: str) -> Html | None:
    return tag("path", d=path, fill="currentColor", class_=colour) if path else None


def _stacked(
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
