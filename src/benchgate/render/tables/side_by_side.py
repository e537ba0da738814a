"""Systems that ran the same workload, side by side: the smallest arm of each, and its own ratios.

Takes a SessionView; gives text for a terminal or lines of Markdown, and nothing if no workload ran on several
systems or clocks. Both arms of a ratio are of the same system and lane. With --clock both each column says
whether its lane decides. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from benchgate.base import grouped
from benchgate.base.cells import Lane, Window
from benchgate.base.clocks import clock_of
from benchgate.base.gates import Word
from benchgate.base.statistics.stats import Interval
from benchgate.base.text import visible
from benchgate.render.escape import markdown
from benchgate.render.figures import ArmFigures, ArmSeries, Speedup, row_key, scaling_gate, series_of
from benchgate.render.tables import columns, units
from benchgate.render.view import SessionView

TITLE = "Side by side"
ABOUT = "Each ratio is within one system and lane; times of different lanes cannot be compared."

_ORDER = (Lane.NATIVE, Lane.KVM, Lane.TCG, Lane.INSN)
"""The columns with --clock both: this host's own Linux first."""


@dataclass(frozen=True, slots=True)
class _Table:
    """The columns are workload and window, then one for each system and lane."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    unresolved: str
    """Which ratios of two systems the instruction clock cannot tell apart; may be empty."""


def text(view: SessionView, room: int) -> list[str]:
    """Lines for a terminal: a table, or stacked lines if the table is too wide."""
    table = _table(view)
    if table is None:
        return []
    cells = [[visible(cell) for cell in row] for row in (table.heading, *table.rows)]
    lines = columns.drawn(cells)
    if max(map(columns.width, lines)) > room:
        lines = [line for row in cells[1:] for line in _stacked(cells[0], row, room)]
    notes = columns.wrapped(table.unresolved, room) if table.unresolved else []
    return [*columns.wrapped(f"{TITLE}. {ABOUT}", room), *lines, *notes]


def lines_of_markdown(view: SessionView) -> list[str]:
    table = _table(view)
    if table is None:
        return []
    rule = ("---", "---", *("--:" for _ in table.heading[2:]))
    rows = [" | ".join(markdown(cell) for cell in row) for row in (table.heading, *table.rows)]
    drawn = [f"| {row} |" for row in (rows[0], " | ".join(rule), *rows[1:])]
    notes = [markdown(table.unresolved), ""] if table.unresolved else []
    return [f"## {TITLE}", "", ABOUT, "", *drawn, "", *notes]


def _table(view: SessionView) -> _Table | None:
    groups = grouped(series_of(view), key=row_key)
    shared = [group for group in groups.values() if len({series.place for series in group}) > 1]
    if not shared:
        return None
    lanes = {series.place: series.lane for group in shared for series in group}
    places = sorted(lanes, key=lambda place: _ORDER.index(lanes[place]) if view.clocks else 0)
    names = tuple(place + _role(view, lanes[place]) for place in places)
    rows = tuple(_row(view, group, window, places) for group in shared for window in Window)
    return _Table(("workload", "window", *names), rows, _unresolved(shared))


def _unresolved(groups: Sequence[Sequence[ArmSeries]]) -> str:
    result = [
        f"{group[0].label} {window} {name}"
        for group in groups
        for window in Window
        for name in dict.fromkeys(arm.name for series in group for arm in series.arms)
        if any(_is_unresolved(one, two, window, name) for one, two in combinations(group, 2))
    ]
    if not result:
        return ""
    why = "because the clock's steps can account for the difference"
    return f"Systems not told apart, {why}: {', '.join(result)}."


def _is_unresolved(series: ArmSeries, two: ArmSeries, window: Window, name: str) -> bool:
    if (series.lane, series.machine) != (two.lane, two.machine):
        return False
    first, second = _blurred(series, window, name), _blurred(two, window, name)
    return bool(first and second and first.low <= second.high and second.low <= first.high)


def _blurred(series: ArmSeries, window: Window, name: str) -> Interval | None:
    """The ratio, and what the clock's steps in both of its arms can have changed it to."""
    arm = series.arm(name)
    seen = arm.speedups.get(window) if arm else None
    base = next((figures for figures in series.arms if seen and figures.cpus == seen.base_cpus), None)
    blurs = [figures.unresolved(window) for figures in (base, arm) if figures]
    shares = [number for number in blurs if number is not None]
    if not seen or len(shares) < len(blurs):
        return None
    blur = 1 + sum(shares)
    return Interval(seen.ratio / blur, seen.ratio * blur)


def _role(view: SessionView, lane: Lane) -> str:
    if view.clocks is None or view.informs:
        return ""
    return " (decides)" if clock_of(lane) is view.clocks.decides else " (informs)"


def _row(
    view: SessionView, group: Sequence[ArmSeries], window: Window, places: Sequence[str]
) -> tuple[str, ...]:
    of = {series.place: series for series in group}
    cells = (_cell(view, of[place], window) if place in of else "-" for place in places)
    return (group[0].label, window, *cells)


def _cell(view: SessionView, series: ArmSeries, window: Window) -> str:
    """`smp1 637.7 ms; smp2 1.92x; smp4 3.60x`; in full `smp2 1.92x [1.90, 1.94] PASS`."""
    base = series.arms[0]
    return "; ".join([f"{base.name} {_median(base, window)}", *_ratios(view, series, window)])


def _median(arm: ArmFigures, window: Window) -> str:
    spread = arm.spread(window)
    if arm.is_broken or spread is None:
        return "INVALID" if arm.is_broken else "-"
    return units.shown(spread.median, arm.unit)


def _ratios(view: SessionView, series: ArmSeries, window: Window) -> list[str]:
    is_full = view.clocks is not None
    ratios = []
    for arm in series.arms[1:]:
        is_other = scaling_gate(view.shown_verdicts, series, arm.cpus) is not None
        seen = None if is_other else arm.speedups.get(window)
        broken = arm.is_broken or (seen is not None and seen.word == Word.INVALID)
        ratios.append(f"{arm.name} {'INVALID' if broken else _ratio(seen, is_full=is_full)}")
    return ratios


def _ratio(seen: Speedup | None, *, is_full: bool) -> str:
    if seen is None:
        return "-"
    if not is_full:
        return f"{seen.ratio:.2f}x"
    return f"{units.speedup(seen)} {'' if seen.word == Word.SKIP else seen.word}".rstrip()


def _stacked(heading: Sequence[str], row: Sequence[str], room: int) -> list[str]:
    named = zip(heading[2:], row[2:], strict=True)
    lines = [line for name, cell in named for line in columns.wrapped(f"  {name}: {cell}", room)]
    return [*columns.wrapped(f"{row[0]}, {row[1]}", room), *lines]
