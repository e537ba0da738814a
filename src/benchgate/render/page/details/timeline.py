"""Timelines: the workers of the median and of the slowest run of each cell by CPU, and what each vCPU did.

Takes a PageView; gives the part, or None without any timeline. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benchgate.base.text import counted
from benchgate.insn.activity import Activity, Wakes
from benchgate.judge.accounts.timeline import Timeline, WorkerSpan
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.page_view import PageView
from benchgate.render.page.pictures.lanes import SPUN, WORKED, WORKERS, Piece, Steps, WorkerTrack, picture
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
    cells = [list(of) for _, of in groupby(page.view.timelines, key=lambda one: one.cell)]
    if not cells:
        return None
    cells.sort(key=lambda of: -of[0].cpus)  # if something has to be left out, then what is least to see
    shown = [(of[0].cell, _cell(page.view, of, is_open=of[-1].share > APART)) for of in cells]
    drawn, cut = page.fitting(shown, MOST_BYTES)
    return join([_legend(page.view.timelines) if drawn else None, *map(Html, drawn), cut_of(cut)])


def _legend(every: Sequence[Timeline]) -> Html:
    entries = [_key(WORKERS, "worker")]
    if any(one.activity for one in every):
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
    longest = max(one.length for one in of)
    figures = tag("div", *(_figure(one, longest) for one in of), class_="panels")
    paste = [f"benchgate timeline {run_folder(view, one.folder)}" for one in of]
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
    found = timeline.activity.wakes if timeline.activity else ()
    if not found:
        return None
    pairs = {(pair.by, pair.target): pair for pair in found}
    targets = sorted({pair.target for pair in found})[:MOST_COLUMNS]
    wakers = sorted({pair.by for pair in found}, key=lambda by: -1 if by is None else by)[:MOST_ROWS]
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
