"""Threads in time, twice: by CPU, with who ran, the queues and wasted time; and by thread, with what it did.

Takes a `ThreadSketch` and how each thread is painted; gives SVGs that are valid XML and have one time axis.
Colour is not all that tells: names stand in what is wide enough, wasted time has a bar below the lane, and
in a thread's row running is full, waiting for a CPU is framed, and blocked is a line. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchgate.base import grouped
from benchgate.judge.accounts.thread_sketch import LEVELS, LaneBox, SketchRow, ThreadSketch, joined
from benchgate.render.page.html import Html, join, number, tag
from benchgate.render.page.look import colour_class
from benchgate.render.page.pictures.frame import LETTER, labels, named, ticks

LEFT, PLOT, RIGHT, TOP, FOOT = 104, 888, 8, 20, 4
WIDTH = LEFT + PLOT + RIGHT
HUES = (0, 1, 2, 3, 4, 6, 7, 8, 9)
"""Looks for threads: neither the red of wasted time nor the grey of the other threads."""
MOST_COLOURS = 12
FULL, PALE = 0.6, 0.28
"""How opaque a thread is; pale are those beyond the hues."""
GREYS = (0.22, 0.4)
BOLD = 7.2
"""The width of a bold character, at most."""
MOST_WORDS = 100
FEW_CPUS = 8
ROW, ROW_GAP = 12, 5
OTHERS = "soft"


@dataclass(frozen=True, slots=True)
class ThreadPaint:
    name: str
    colour: int | None
    """Its number among the coloured threads; None: grey, like all others."""

    @property
    def kind(self) -> str:
        """The class that sets its colour."""
        return OTHERS if self.colour is None else colour_class(HUES[self.colour % len(HUES)])

    @property
    def opacity(self) -> float:
        return PALE if self.colour is None or self.colour >= len(HUES) else FULL


Paints = Mapping[int, ThreadPaint]
"""By thread."""
UNNAMED = ThreadPaint("another thread", None)


@dataclass(frozen=True, slots=True)
class _Heights:
    """Of one CPU: its lane, the bar of wasted time, the queue, and the space to the next one."""

    lane: int
    wasted: int
    queue: int
    gap: int

    @property
    def pitch(self) -> int:
        return self.lane + self.wasted + self.queue + self.gap

    def top(self, cpu: int) -> int:
        return TOP + self.pitch * cpu


# ---- by CPU


def by_cpu(seen: ThreadSketch, paints: Paints, label: str) -> Html:
    heights = _heights(seen)
    bottom = heights.top(len(seen.lanes))
    names = [
        tag("text", f"CPU {cpu}", x=LEFT - 6, y=heights.top(cpu) + heights.lane - 1, text_anchor="end")
        for cpu in range(len(seen.lanes))
    ]
    parts = [
        *_axis(seen.length, bottom),
        *names,
        _floors(heights, len(seen.lanes)),
        *_boxes(seen, paints, heights),
        _queues(seen, heights),
        _wasted(seen, heights),
        _arrows(seen, heights),
        *_words(seen, paints, heights),
    ]
    return _picture(label, bottom, parts)


def _heights(seen: ThreadSketch) -> _Heights:
    few = len(seen.lanes) <= FEW_CPUS
    queue = (10 if few else 7) if seen.queues else 0
    return _Heights(14, 3, queue, 7) if few else _Heights(11, 3, queue, 4)


def _picture(label: str, bottom: float, parts: Sequence[Html | None]) -> Html:
    view = f"0 0 {WIDTH} {number(bottom + FOOT)}"
    return tag("svg", *parts, viewBox=view, role="img", aria_label=label)


def _axis(length: int, bottom: float) -> Iterator[Html]:
    marks = [tick for tick in ticks(0, length, 8) if tick <= length]
    for mark, words in zip(marks, labels(marks, "ns") if len(marks) > 1 else ["0"], strict=True):
        x = LEFT + PLOT * mark / max(length, 1)
        yield tag("path", class_="grid", d=f"M{number(x)} {TOP - 5}V{number(bottom)}")
        anchor = "end" if x > LEFT + PLOT - 3 * RIGHT else "middle"
        yield tag("text", words, x=x, y=TOP - 8, text_anchor=anchor)


def _floors(heights: _Heights, cpus: int) -> Html:
    path = "".join(f"M{LEFT} {heights.top(cpu) + heights.lane}h{PLOT}" for cpu in range(cpus))
    return tag("path", class_="grid", d=path)


def _boxes(seen: ThreadSketch, paints: Paints, heights: _Heights) -> Iterator[Html]:
    """One path for each painted thread, and one for all others."""
    unit = PLOT // seen.columns
    paths: dict[_Layer, list[str]] = {}
    for cpu, lane in enumerate(seen.lanes):
        floor = heights.top(cpu) + heights.lane
        for layer, boxes in grouped(lane, key=lambda box: _layer(box, paints)).items():
            pieces = ((box.begin, box.end, (0, box.level)) for box in boxes)
            paths.setdefault(layer, []).append(_outline(pieces, unit, floor, heights.lane))
    for layer in sorted(paths, key=lambda one: (one.kind, one.opacity)):
        name = tag("title", layer.name)
        shape = tag("path", name, d="".join(paths[layer]), fill="currentColor", fill_opacity=layer.opacity)
        yield tag("g", shape, class_=layer.kind)


@dataclass(frozen=True, slots=True)
class _Layer:
    """What is painted alike: a coloured thread, or one of two greys, so that most neighbours differ."""

    kind: str
    opacity: float
    name: str


def _layer(box: LaneBox, paints: Paints) -> _Layer:
    paint = paints.get(box.thread, UNNAMED)
    if paint.colour is None:
        return _Layer(OTHERS, GREYS[box.thread % len(GREYS)], "other threads")
    return _Layer(paint.kind, paint.opacity, paint.name)


def _outline(pieces: Iterable[tuple[int, int, tuple[int, int]]], unit: int, floor: int, height: int) -> str:
    """Boxes between two levels each; every one begins where the last one began, which takes few bytes."""
    made: list[str] = []
    x, y = 0.0, 0.0
    for begin, end, (low, high) in joined(pieces):
        left, bottom = LEFT + begin * unit, floor - height * low / LEVELS
        move = f"m{number(left - x)} {number(bottom - y)}" if made else f"M{left} {number(bottom)}"
        tall = number(height * (high - low) / LEVELS)
        made.append(f"{move}v-{tall}h{(end - begin) * unit}v{tall}z")
        x, y = left, bottom
    return "".join(made)


def _words(seen: ThreadSketch, paints: Paints, heights: _Heights) -> Iterator[Html]:
    """The names in the widest stretches in which one thread ran almost without a break, where they fit."""
    unit, wide = PLOT // seen.columns, []
    for cpu, lane in enumerate(seen.lanes):
        full = ((box.begin, box.end, box.thread) for box in lane if box.level >= LEVELS - 1)
        for begin, end, thread in joined(full):
            name = paints.get(thread, UNNAMED).name
            if (end - begin) * unit > BOLD * len(name) + 4:
                wide.append((begin - end, cpu, begin, name))
    for _, cpu, begin, name in sorted(wide)[:MOST_WORDS]:
        y = heights.top(cpu) + heights.lane - 2.5
        yield tag("text", name, x=LEFT + begin * unit + 2, y=y, class_="strong")


def _queues(seen: ThreadSketch, heights: _Heights) -> Html | None:
    """The skyline of each CPU's queue, all on one scale."""
    most = seen.longest_queue
    if not most:
        return None
    unit, paths = PLOT // seen.columns, []
    for cpu, steps in enumerate(seen.queues):
        floor = heights.top(cpu) + heights.lane + heights.wasted + heights.queue
        path = f"M{LEFT} {floor}"
        for column, length in steps:
            path += f"H{LEFT + column * unit}V{number(floor - heights.queue * length / most)}"
        paths.append(f"{path}H{LEFT + PLOT}V{floor}z")
    told = tag("title", f"threads in each CPU's queue, up to {most}")
    return tag("path", told, d="".join(paths), class_="queue")


def _wasted(seen: ThreadSketch, heights: _Heights) -> Html | None:
    """A bar below the lane, and a tint in it."""
    unit, bars, tints = PLOT // seen.columns, [], []
    for cpu, stretches in enumerate(seen.wasted):
        top = heights.top(cpu)
        for begin, end in stretches:
            x, wide = LEFT + begin * unit, (end - begin) * unit
            bars.append(f"M{x} {top + heights.lane}h{wide}v{heights.wasted}h-{wide}z")
            tints.append(f"M{x} {top}h{wide}v{heights.lane}h-{wide}z")
    if not bars:
        return None
    told = tag("title", "wasted: this CPU was idle while a thread that may run here waited elsewhere")
    tint = tag("path", d="".join(tints), fill="currentColor", fill_opacity=0.16)
    return tag("g", told, tint, tag("path", d="".join(bars), fill="currentColor"), class_="bad")


def _arrows(seen: ThreadSketch, heights: _Heights) -> Html | None:
    """From the waker's lane to that on whose queue the thread is put, at the time of the wake-up."""
    shafts, tips = [], []
    for arrow in seen.arrows:
        down = 1 if arrow.target > arrow.source else -1
        x = LEFT + PLOT * arrow.time // max(seen.length, 1)
        begin = heights.top(arrow.source) + (heights.lane if down > 0 else 0)
        end = heights.top(arrow.target) + (0 if down > 0 else heights.lane)
        shafts.append(f"M{x} {begin}V{end}")
        tips.append(f"M{x} {end}l-2.5 {-5 * down}h5z")
    if not shafts:
        return None
    told = tag("title", "wakes a thread and puts it on the queue of another CPU")
    return tag(
        "g", told, tag("path", d="".join(shafts), class_="wake"), tag("path", d="".join(tips), class_="tip")
    )


# ---- by thread


def by_thread(seen: ThreadSketch, paints: Paints, label: str) -> Html:
    bottom = TOP + (ROW + ROW_GAP) * len(seen.rows)
    rows = [
        _row(row, paints.get(row.thread, UNNAMED), TOP + (ROW + ROW_GAP) * n, PLOT // seen.columns)
        for n, row in enumerate(seen.rows)
    ]
    return _picture(label, bottom, [*_axis(seen.length, bottom), *rows])


def _row(row: SketchRow, paint: ThreadPaint, top: int, unit: int) -> Html:
    floor = top + ROW
    name = named(paint.name, LEFT - 6, top + ROW - 2, LEFT - 10)
    line = f"M{LEFT + row.begin * unit} {floor}H{LEFT + row.end * unit}"
    blocked = tag("path", d=line, stroke="currentColor", fill="none")
    running = ((box.begin, box.end, (0, box.running)) for box in row.boxes if box.running)
    waiting = (
        (box.begin, box.end, (box.running, box.running + box.runnable)) for box in row.boxes if box.runnable
    )
    ran, waited = (_outline(pieces, unit, floor, ROW) for pieces in (running, waiting))
    painted = [
        blocked,
        tag("path", d=ran, fill="currentColor", fill_opacity=0.75) if ran else None,
        tag("path", d=waited, class_="waits") if waited else None,
    ]
    return join([name, tag("g", *painted, class_=paint.kind), _places(row, top, unit)])


def _places(row: SketchRow, top: int, unit: int) -> Html | None:
    """The number of the CPU, where a thread ran on one for long enough."""
    full = ((box.begin, box.end, box.cpu) for box in row.boxes if box.running == LEVELS)
    marks = [
        tag("tspan", str(cpu), x=LEFT + begin * unit + 2)
        for begin, end, cpu in joined(full)
        if (end - begin) * unit > LETTER * len(str(cpu)) + 5
    ]
    return tag("text", *marks, y=top + ROW - 3, class_="tiny strong") if marks else None
