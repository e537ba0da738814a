"""The page of an exploration: its runs, its finds by group, and the interleaving that is left of each.

Takes the state and the command of each find; gives HTML in one text, by the same means as a session's page. A
picture has a mark for each run at its length, and crosses on top for those that went wrong; another one what
each CPU executed around a stall. A stopped CPU is a hatched box with its name, so that colour is not all that
tells. Does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchgate.base.text import counted
from benchgate.features.explore.exploration_result import ExplorationResult, Find, RunLine, SmallFind
from benchgate.features.explore.page import finds as tables
from benchgate.features.explore.switch import Segment
from benchgate.render.page.html import Child, Html, join, prose, rect, tag
from benchgate.render.page.look import colour_class, legend, marker
from benchgate.render.page.page import Section, document
from benchgate.render.page.pictures.frame import RIGHT, WIDTH, level, picture, short, ticks, upright
from benchgate.render.page.tables import commands, figure, grid, listed, more, scrolling

LONG_LIST = 12
"""A longer group of finds shows the others on request."""


def page(state: ExplorationResult, of_find: Mapping[str, str]) -> str:
    """`of_find`: the command that replays each."""
    cells = counted(len({line.cell for line in state.lines}), "cell")
    told = f"an exploration of {cells}; an explored run is never a sample of a gate"
    return document(f"{_word(state)}: {tables.headline(state)}", told, [*_sections(state, of_find)])


def _word(state: ExplorationResult) -> str:
    if state.finds:
        return "FAIL"
    if not state.is_complete:
        return "PARTIAL"
    return "UNDECIDED" if state.unstalled else "PASS"


def _sections(state: ExplorationResult, of_find: Mapping[str, str]) -> Iterator[Section]:
    if state.notes:
        yield "notes", "What was left out", listed(state.notes)
    for number, (name, finds) in enumerate(state.groups, 1):
        title = f"Find {number}: {finds[0].kind}, in {counted(len(finds), 'run')}"
        yield f"group-{number}", title, _group(name, finds, of_find)
    yield "runs", "Runs", join([_panels(state), grid(tables.strategies(state))])
    if state.finds:
        yield "finds", "The runs of all finds", grid(tables.finds(state, lambda name: of_find.get(name, "")))


# ---- a group


def _group(name: str, finds: tuple[Find, ...], of_find: Mapping[str, str]) -> Html:
    first = tables.shown(finds)
    what = tag("p", prose(f"{first.name}, {first.cell}: {first.what}"))
    parts: list[Child] = [what, commands(of_find.get(first.name, ""))]
    if first.small is not None:
        parts += [listed(tables.small(first)), _lanes(first.small)]
    parts.append(tag("p", f"What they have in common: {name}.", class_="soft"))
    if first.places:
        places = ", ".join(f"CPU {n} at {where}" for n, where in enumerate(first.places))
        parts.append(tag("p", f"At the end: {places}."))
    if first.last_lines:
        lines = "\n".join(first.last_lines)
        parts.append(more("the last lines of its console", tag("pre", *_lines(lines))))
    others = [f"{find.name}: {find.cell}, {find.strategy} {find.seed}" for find in finds if find is not first]
    if others:
        parts.append(more(f"{counted(len(others), 'other run')}", listed(others[: LONG_LIST * 10])))
    return join(parts)


def _lines(text: str) -> Iterator[Html]:
    for n, line in enumerate(text.split("\n")):
        if n:
            yield Html("\n")
        yield tag("span", line)


def _lanes(small: SmallFind) -> Html | None:
    if not small.segments:
        return None
    title = "the interleaving that is left: what each CPU executed around the stall"
    drawn = draw_lanes(title, small.segments, short)
    return tag("figure", tag("figcaption", title), scrolling(title, drawn), class_="whole")


# ---- the runs


def _panels(state: ExplorationResult) -> Html:
    """A panel for each cell."""
    names = [*dict.fromkeys(line.strategy for line in state.lines)]
    panels = []
    for cell in dict.fromkeys(line.cell for line in state.lines):
        mine = [line for line in state.lines if line.cell == cell]
        has_window = any(run.work_ns for run in mine)
        what = "timed window" if has_window else "guest time to the end"
        dots = [_dot(run, names.index(run.strategy), has_window=has_window) for run in mine]
        title = f"{cell}: {what} of each run in ns; a cross is a find"
        drawn = draw_runs(title, dots, short, "run")
        panels.append(figure(drawn, title, legend([(n, name) for n, name in enumerate(names)])))
    return tag("div", *panels, class_="panels")


def _dot(line: RunLine, look: int, *, has_window: bool) -> Dot:
    value = line.work_ns if has_window else line.end_ns
    said = f"run {line.number}, {line.strategy} {line.seed}: {line.find or f'{value} ns'}"
    return Dot(line.number, look, None if line.find else value, said)


# ---- the pictures

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


def draw_lanes(title: str, segments: Sequence[Segment], shown: Callable[[float], str]) -> Html:
    low = min((segment.begin for segment in segments), default=0)
    high = max((segment.end for segment in segments), default=1)
    lanes = sorted({segment.vcpu for segment in segments})
    symbols = dict.fromkeys(segment.symbol for segment in segments if segment.symbol)
    looks = {symbol: n for n, symbol in enumerate(symbols)}
    floor = LANES_TOP + (LANE + GAP) * len(lanes)

    def x(time: float) -> float:
        return LANES_LEFT + (LANES_WIDTH - LANES_LEFT - LANES_RIGHT) * (time - low) / ((high - low) or 1)

    marks = [tick for tick in ticks(0, high - low, 6) if tick <= high - low]
    axis = [upright(x(low + mark), LANES_TOP, floor, shown(mark)) for mark in marks]
    names = [
        tag("text", f"CPU {lane}", x=LANES_LEFT - 8, y=_lane_top(n) + LANE / 2 + 4, text_anchor="end")
        for n, lane in enumerate(lanes)
    ]
    boxes = [
        _segment(segment, _lane_top(lanes.index(segment.vcpu)), looks.get(segment.symbol, 0), x)
        for segment in segments
    ]
    middle = (LANES_LEFT + LANES_WIDTH) / 2
    below = tag("text", "ns of guest time", x=middle, y=floor + 29, text_anchor="middle")
    return picture(title, floor + LANES_FOOT, *axis, *names, *boxes, below, width=LANES_WIDTH)


def _lane_top(lane: int) -> float:
    return LANES_TOP + (LANE + GAP) * lane


def _segment(segment: Segment, top: float, look: int, x: Callable[[float], float]) -> Html:
    left, wide = x(segment.begin), max(x(segment.end) - x(segment.begin), NARROW)
    said = segment.symbol or "stopped"
    paint: dict[str, str | float] = {"fill": "currentColor", "fill_opacity": 0.22, "stroke": "currentColor"}
    if not segment.symbol:
        paint |= {"fill": "none", "stroke_dasharray": "4 3", "stroke_width": 1.5}
    told = tag("title", f"CPU {segment.vcpu}, {said}: {segment.begin} to {segment.end} ns")
    box = rect(left, top, wide, LANE, told, rx=2, **paint)
    fits = wide > LETTER * len(said) + 6
    text = tag("text", said, x=left + wide / 2, y=top + LANE / 2 + 4, text_anchor="middle", class_="strong")
    return tag("g", box, text if fits else None, class_=colour_class(look) if segment.symbol else "bad")
