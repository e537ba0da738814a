"""Timelines: the workers of the median and of the slowest run of each cell by CPU, and what each vCPU did.

Takes a PageView; gives the part, or None without any timeline. The picture has a lane for each CPU. Colour is
not all that tells: workers are numbered, work stands at the bottom of a lane and waiting on top of it. Does
not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from benchgate.base.text import counted
from benchgate.insn.activity import Activity, Wakes
from benchgate.judge.accounts.timeline import Timeline, WorkerSpan
from benchgate.render.page.html import Child, Html, join, number, rect, tag
from benchgate.render.page.look import entry
from benchgate.render.page.page_view import PageView
from benchgate.render.page.pictures.frame import on_scales
from benchgate.render.page.tables import NOTHING, broad, commands, cut_of, more, run_folder, table
from benchgate.render.tables import units
from benchgate.render.view import SessionView

TITLE = "Timelines by CPU"
ORDER = 20
IS_WHY = True

MOST_BYTES = 260_000
"""The most bytes of all pictures of a session; cells for which nothing is left are named."""
MOST_LANES = 64
APART = 1.05
"""A cell is open at once if its slowest run takes more than so many times the median, or if it is the first
one of a row whose threads were not recorded."""


TOLD = (
    "The median and the slowest run of each cell, on one scale unless one is ten times as long: the total "
    "window, from its begin to its end. Workers are as the guest reported them, by their number; a dashed "
    "one ended on another CPU than it began on. What a vCPU did is known on the instruction clock only, in "
    "up to 200 columns: below, it executes; on top, it executes loops that only wait; free, it is halted."
)


def about(page: PageView) -> str:
    return TOLD if page.view.timelines else ""


def body(page: PageView) -> Html | None:
    cells = [list(of) for _, of in groupby(page.view.timelines, key=lambda timeline: timeline.cell)]
    if not cells:
        return None
    cells.sort(key=lambda of: -of[0].cpus)  # if something has to be left out, then what is least to see
    alone = cells[0] if not page.view.threads else None
    shown = [(of[0].cell, _cell(page.view, of, is_open=of is alone or of[-1].share > APART)) for of in cells]
    drawn, cut = page.fitting(shown, MOST_BYTES)
    return join([_legend(page.view.timelines) if drawn else None, *map(Html, drawn), cut_of(cut)])


def _legend(every: Sequence[Timeline]) -> Html:
    entries = [_key(WORKERS, "worker")]
    if any(timeline.activity for timeline in every):
        entries += [_key(WORKED, "executes"), _key(SPUN, "only waits"), _key("halted", "halted")]
    return tag("ul", *entries, class_="legend")


def _key(colour: str, name: str) -> Html:
    paint = {"class_": colour} if colour == "halted" else {"fill": "currentColor"}
    return entry(rect(1, 3, 14, 10, **paint), colour, name)


def _cell(view: SessionView, of: Sequence[Timeline], *, is_open: bool) -> Html:
    slowest = of[-1]
    told = f"{slowest.cell}: {_length(of[0].work, of[0].unit)}"
    if len(of) > 1:
        told += f", slowest {slowest.share:.2f} times the median"
    scales = on_scales(of, lambda timeline: timeline.length)
    figures = [_figure(timeline, max(one.length for one in scale)) for scale in scales for timeline in scale]
    paste = [f"benchgate timeline {run_folder(view, timeline.folder)}" for timeline in of]
    if slowest.seed is not None:
        paste.append(f"benchgate replay {run_folder(view, slowest.folder)} --timeline --flame")
    tables = [made for made in map(_wakes, of) if made is not None]
    woke = more("Who woke whom", *tables) if tables else None
    return more(told, *figures, woke, commands(*paste), is_open=is_open)


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
    drawn = picture(lanes[:MOST_LANES], timeline.activity, longest, timeline.unit, label)
    return broad(f"{timeline.cell}, {timeline.which} run", drawn, caption)


def _length(length: float, unit: str) -> str:
    """An instruction is a nanosecond of the guest."""
    return units.shown(length, "ns" if unit == "insn" else unit)


def _lanes(timeline: Timeline) -> list[Lane]:
    """A native worker's CPUs are the host's, so the others are not shown."""
    vcpus = timeline.activity.vcpus if timeline.activity else ()
    seen = {bar.cpu for bar in timeline.workers}
    guest = range(timeline.cpus) if max(seen, default=0) < timeline.cpus else ()
    every = seen.union(range(len(vcpus)), guest)
    return [(cpu, [bar for bar in timeline.workers if bar.cpu == cpu]) for cpu in sorted(every)]


def _wakes(timeline: Timeline) -> Html | None:
    """A table of who woke whom: a row for each waker, a column for each CPU that was woken."""
    wakes = timeline.activity.wakes if timeline.activity else ()
    if not wakes:
        return None
    pairs = {(pair.by, pair.target): pair for pair in wakes}
    targets = sorted({pair.target for pair in wakes})
    wakers = sorted({pair.by for pair in wakes}, key=lambda by: -1 if by is None else by)
    rows: list[list[Child]] = [
        [_waker(by), *(_times(pairs.get((by, target))) for target in targets)] for by in wakers
    ]
    caption = (
        f"{timeline.which} run {timeline.run:04}: woke it while it was halted / interrupted it while it ran"
    )
    return table(caption, ("by", *(f"CPU {target}" for target in targets)), rows)


def _waker(by: int | None) -> str:
    return "a timer or device" if by is None else f"CPU {by}"


def _times(pair: Wakes | None) -> str:
    return NOTHING if pair is None else f"{pair.wakes:,} / {pair.interrupts:,}"


# ---- the picture

WIDTH, LEFT, RIGHT, TOP = 1000, 52, 8, 18
ROW, STRIP, GAP = 10, 16, 8
WORKERS, WORKED, SPUN = "s0", "s2", "s1"
"""Classes that set the colour (render/page/look.py)."""


Lane = tuple[int, Sequence[WorkerSpan]]
"""A CPU, and the workers that began there."""


def picture(lanes: Sequence[Lane], activity: Activity | None, length: float, unit: str, label: str) -> Html:
    """`label`: what a screen reader says."""
    y, body = float(TOP), list[Html]()
    for cpu, workers in lanes:
        rows = _rows(workers)
        drawn = activity if activity and cpu < len(activity.vcpus) else None
        body.append(_lane(cpu, rows, unit, y, _scale(length)))
        body += [_strip(drawn, cpu, y + ROW * len(rows), _scale(length))] if drawn else []
        y += max(len(rows) * ROW + (STRIP if drawn else 0), ROW) + GAP
    axis = tag("path", d=f"M{LEFT} {TOP - 4}V{number(y)}H{WIDTH - RIGHT}", class_="axis")
    begin = tag("text", "0", x=LEFT, y=10)
    end = tag("text", _length(length, unit), x=WIDTH - RIGHT, y=10, text_anchor="end")
    grid = "".join(f"M{number(_scale(1)(part))} {TOP - 4}V{number(y)}" for part in (0.25, 0.5, 0.75, 1))
    inner = (tag("path", d=grid, class_="grid"), axis, begin, end, *body)
    return tag("svg", *inner, viewBox=f"0 0 {WIDTH} {number(y + 4)}", role="img", aria_label=label)


def _scale(length: float) -> Callable[[float], float]:
    return lambda time: LEFT + (WIDTH - LEFT - RIGHT) * time / (length or 1)


def _rows(workers: Sequence[WorkerSpan]) -> list[list[WorkerSpan]]:
    """Workers that overlap are in rows below each other."""
    rows: list[list[WorkerSpan]] = []
    for bar in sorted(workers, key=lambda span: (span.begin, span.worker)):
        free = next((row for row in rows if row[-1].end <= bar.begin), None)
        if free is None:
            rows.append([bar])
        else:
            free.append(bar)
    return rows


def _lane(
    cpu: int, rows: Sequence[Sequence[WorkerSpan]], unit: str, y: float, x: Callable[[float], float]
) -> Html:
    name = tag("text", f"CPU {cpu}", x=LEFT - 6, y=y + 9, text_anchor="end")
    return join([name, *(_bar(bar, unit, y + ROW * at, x) for at, row in enumerate(rows) for bar in row)])


def _bar(bar: WorkerSpan, unit: str, y: float, x: Callable[[float], float]) -> Html:
    """Of a worker that ended on another CPU only the time is certain."""
    begin, wide = x(bar.begin), max(x(bar.end) - x(bar.begin), 1.5)
    told = f"worker {bar.worker}: {_length(bar.end - bar.begin, unit)} from {_length(bar.begin, unit)}"
    paint: dict[str, str | float | None] = {"fill": "currentColor", "fill_opacity": 0.75}
    if bar.cpu != bar.cpu_end:
        told += f", began on CPU {bar.cpu}, ended on CPU {bar.cpu_end}"
        paint |= {"fill_opacity": 0.2, "stroke": "currentColor", "stroke_dasharray": "3 2"}
    else:
        told += f" on CPU {bar.cpu}"
    box = rect(begin, y, wide, ROW - 2, tag("title", told), **paint)
    short = str(bar.worker)
    fits = wide > 7 * len(short) + 4
    said = tag("text", short, x=begin + 3, y=y + 7.5, class_="tiny strong") if fits else None
    return tag("g", box, said, class_=WORKERS)


def _strip(activity: Activity, cpu: int, y: float, x: Callable[[float], float]) -> Html:
    """Work from the bottom, waiting on top of it; what is left free is halted."""
    bottom, end = y + STRIP - 2, activity.end - activity.begin
    columns = activity.vcpus[cpu]
    work = [(0.0, column.worked) for column in columns]
    wait = [(column.worked, column.worked + column.spun) for column in columns]
    ground = rect(x(0), y, x(end) - x(0), STRIP - 2, class_="halted")
    areas = ((_stacked(activity, part, bottom, x), colour) for part, colour in ((work, WORKED), (wait, SPUN)))
    drawn = (tag("path", d=path, fill="currentColor", class_=colour) for path, colour in areas if path)
    return join([ground, *drawn])


def _stacked(
    activity: Activity, shares: Sequence[tuple[float, float]], bottom: float, x: Callable[[float], float]
) -> str:
    """One closed box for each stretch of columns from one share to another; heights are whole pixels."""
    levels = [(round(bottom - low * (STRIP - 2)), round(bottom - high * (STRIP - 2))) for low, high in shares]
    path, since, end = [], 0, activity.end - activity.begin
    for at in range(1, len(levels) + 1):
        if at < len(levels) and levels[at] == levels[since]:
            continue
        floor, top = levels[since]
        if top < floor:
            left, right = x(since * activity.width), x(min(at * activity.width, end))
            path.append(f"M{number(left)} {floor}V{top}H{number(right)}V{floor}z")
        since = at
    return "".join(path)
