"""Every run in the order of execution: its figure beside those of its arm, what the host's detectors saw, and
the commands that repeat and check it.

Takes a PageView; gives the chapter, or None without a run. Its pictures are strips of at most `MOST` runs,
which fit a phone, with a lane of bars below for each detector. A void run is a hollow mark with a bar through
it, a broken one a cross at the bottom. Does not fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchgate.base.cells import Lane
from benchgate.base.runs import Outcome
from benchgate.base.statistics import stats
from benchgate.base.system.machines import unit_on
from benchgate.base.void_rule import said
from benchgate.evidence.rows import RunRow
from benchgate.judge.noise import RunNoise
from benchgate.render.page.html import Child, Html, join, rect, tag
from benchgate.render.page.look import colour_class, legend, marker
from benchgate.render.page.page_view import PageView
from benchgate.render.page.pictures.frame import WIDTH, level, picture, ticks
from benchgate.render.page.tables import (
    NOTHING,
    TableLine,
    figure,
    listed,
    more,
    run_folder,
    table,
    used,
    word,
)
from benchgate.render.tables import units
from benchgate.render.view import SessionView

TITLE = "Every run"
ORDER = 30
ABOUT = (
    "Each mark is a run: its work window divided by the median of its arm, so that all arms share one scale "
    "and 100% is the median. A hollow grey mark is a warm-up. A hollow mark with a line through it is void: "
    "the host disturbed it, and it was made again. A cross is a run that crashed or is invalid. Below are "
    "the host's counters during each run, where the host has them, each on a scale of its own; a bar in "
    "another colour is above the policy's limit."
)
PLACES = (
    "Only a run on the instruction clock can be replayed: exactly, from its seed. The command at the end of "
    "the page checks every run."
)
HEADS = ("run", "cell", "seed", "outcome", "work", "total", "the host during the run", "why", "repeat it")
NO_NOISE = RunNoise(None, None, {}, ())
LEAST = {"run_delay": 0.02, "steal": 0.02, "frequency": 0.02, "psi_cpu": 0.1, "involuntary": 100.0}
"""What is drawn as a full bar at least; 1 for counts."""


def body(page: PageView) -> Html | None:
    view, looks = page.view, page.looks
    rows = sorted(view.rows, key=lambda row: row.run)
    if not rows:
        return None
    places = {(series.system, series.lane): series.place for series in page.every}
    medians = _medians(rows)
    row_looks = [looks[places[row.cell.system, row.lane]] for row in rows]
    marks = [_mark(row, look, medians.get(row.cell.id)) for row, look in zip(rows, row_looks, strict=True)]
    lanes = _lanes(view, rows)
    pictures = (figure(drawn, name) for name, drawn in draw(TITLE, marks, lanes))
    heads, cells = used(HEADS, [_row(view, row) for row in rows])
    lines = [
        TableLine(line, row.cell.id, look, str(row.outcome))
        for line, row, look in zip(cells, rows, row_looks, strict=True)
    ]
    named = [head for head in HEADS[-3:] if head in heads]
    whole = table("Every run", heads, lines, texts=4 if "seed" in heads else 3, prose=len(named))
    void = tag("p", f"Void: {view.void_rule}.", class_="soft") if view.void_rule else None
    entries = legend([(look, place) for place, look in looks.items()])
    drawn = tag("div", *pictures, class_="panels")
    outliers = listed(view.outliers) if view.outliers else None
    seen = more("Every run as a picture", tag("p", ABOUT), entries, drawn)
    every = f"All {len(rows)} runs with their figures and commands"
    told = more(every, tag("p", PLACES), tag("div", whole, class_="tall sort"))
    return join([tag("p", _counts(rows)), outliers, void, seen, told])


def run_name(row: RunRow) -> str:
    return f"{row.run:04d}-{row.cell.id}"


def replay_command(view: SessionView, row: RunRow) -> str:
    """None of a run on wall time can be repeated exactly, so there is no command for it."""
    return f"benchgate replay {run_folder(view, f'runs/{run_name(row)}')}" if row.lane is Lane.INSN else ""


def _counts(rows: Sequence[RunRow]) -> str:
    outcomes = Counter(row.outcome for row in rows)
    counts = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in Outcome if outcomes[outcome])
    return f"{len(rows)} attempts: {counts}."


def _medians(rows: Sequence[RunRow]) -> Mapping[str, float]:
    """The median of the runs that count; in an arm without any, of all that have a figure."""
    counted: dict[str, list[float]] = {}
    other: dict[str, list[float]] = {}
    for row in rows:
        if row.work:
            (counted if row.counts else other).setdefault(row.cell.id, []).append(float(row.work))
    return {name: stats.median(samples) for name, samples in (other | counted).items()}


def _mark(row: RunRow, look: int, median: float | None) -> StripPoint:
    value = row.work / median if row.work and median else None
    shown = _shown(row, row.work)
    why = f": {row.reason}" if row.reason else ""
    told = f"run {row.run}, {row.cell.id}, {row.outcome} {shown}{why}"[:300]
    return StripPoint(row.run, look, value, row.outcome, told)


def _shown(row: RunRow, value: int | None) -> str:
    return units.shown(value, unit_on(row.cell.system, row.unit)) if value else ""


def _lanes(view: SessionView, rows: Sequence[RunRow]) -> list[Bars]:
    """One for each counter that the host offered in any run."""
    seen = [view.noise.get(row.run, NO_NOISE) for row in rows]
    figures = [pair for noise in seen for pair in noise.figures.items()]
    names = dict.fromkeys(name for name, value in figures if value is not None)
    return [
        Bars(
            name=name.replace("_", " "),
            values=tuple(noise.figures.get(name) for noise in seen),
            shown=tuple(_said(row, noise, name) for row, noise in zip(rows, seen, strict=True)),
            least=LEAST.get(name, 1.0),
            above=tuple(name in noise.above for noise in seen),
        )
        for name in names
    ]


def _said(row: RunRow, noise: RunNoise, name: str) -> str:
    value = noise.figures.get(name)
    return f"run {row.run}: {said(name, value)}" if value is not None else ""


def _noise(view: SessionView, row: RunRow) -> str:
    """Says when the run was, and what the counters say of it."""
    noise = view.noise.get(row.run, NO_NOISE)
    known = noise.begin_s is not None and noise.length_s is not None
    when = f"at {noise.begin_s:.1f} s for {noise.length_s:.1f} s" if known else ""
    return "; ".join(filter(None, (when, ", ".join(noise.said)))) or NOTHING


def _row(view: SessionView, row: RunRow) -> list[Child]:
    replay = replay_command(view, row)
    return [
        f"{row.run:04d}",
        row.cell.id,
        str(row.seed) if row.lane is Lane.INSN else NOTHING,
        word(str(row.outcome)),
        _shown(row, row.work) or NOTHING,
        _shown(row, row.total) or NOTHING,
        _noise(view, row),
        tag("span", row.reason, class_="reason") if row.reason else NOTHING,
        tag("code", replay) if replay else NOTHING,
    ]


# ---- the pictures

MOST = 40
LEAST_VALUE, MOST_VALUE = 0.0, 3.0
"""The scale ends here at most; what lies beyond is drawn at its edge."""
NUMBERED = 10
"""Every so many runs have their number below them."""
PITCH = 6.5
LEFT, TOP, HIGH, LANE, FOOT = 84, 10, 110, 26, 18


@dataclass(frozen=True, slots=True)
class StripPoint:
    number: int
    """The run's number in its folder."""
    look: int
    value: float | None
    """Its figure divided by its arm's median; None for a run without a figure."""
    outcome: Outcome
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
    values = [min(max(mark.value, LEAST_VALUE), MOST_VALUE) for mark in marks if mark.value is not None]
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
    for value in levels:
        yield level(_y(value, levels), f"{100 * value:.4g}%", LEFT)
    for place in range(0, len(part), NUMBERED):
        number = str(part[place].number)
        yield tag("text", number, x=_x(place), y=TOP + HIGH + 13, text_anchor="middle")


def _marks(part: Sequence[StripPoint], levels: Sequence[float]) -> Iterator[Html]:
    for place, point in enumerate(part):
        x = _x(place)
        if point.value is None or point.outcome in (Outcome.INVALID, Outcome.CRASHED):
            cross = f"M{x - 3:.1f} {TOP + HIGH - 7.0:.1f}l6 6m0 -6l-6 6"
            told = tag("title", point.title)
            yield tag("path", told, class_="bad", d=cross, stroke="currentColor", stroke_width=2)
            continue
        y = _y(point.value, levels)
        hollow, colour = point.outcome is not Outcome.OK, colour_class(point.look)
        kind = {Outcome.VOID: "void", Outcome.WARMUP: "soft"}.get(point.outcome, colour)
        line = tag("path", d=f"M{x:.1f} {TOP}V{TOP + HIGH}", stroke="currentColor", opacity=0.5)
        mark = marker(point.look, x, y, 2.6, hollow=hollow, title=point.title)
        yield tag("g", line if point.outcome is Outcome.VOID else None, mark, class_=kind)


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
        told, kind = tag("title", lane.shown[start + place]), "void" if lane.above[start + place] else "soft"
        yield rect(x, y, PITCH - 1.6, tall, told, fill="currentColor", class_=kind)
