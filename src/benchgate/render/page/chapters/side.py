"""Every arm with its absolute figures and intervals, the systems of a workload beside each other.

Takes a SessionView; gives the chapter, or None without a counted run. The last column compares the work of
two systems at one CPU count, where both are on one lane. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benchgate.base.cells import Window
from benchgate.base.gates import SMALLEST_LOOK
from benchgate.base.statistics import stats
from benchgate.base.statistics.stats import Spread
from benchgate.base.text import with_interval
from benchgate.render.figures import ArmFigures, ArmSeries, series_of
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.tables import NOTHING, table, used, word
from benchgate.render.tables import units
from benchgate.render.view import SessionView

TITLE = "Side by side"
ORDER = 30
ABOUT = (
    "Medians with the smallest and the largest run below them; speedups are ratios of medians within one "
    "system and lane, in brackets the exact bootstrap interval. Faster than the first: how many times faster "
    "the work is than on the first system of the table, on the same lane with the same CPUs."
)
HEADS = (
    "arm",
    "system, lane",
    "runs",
    "work",
    "speedup of work",
    "gate",
    "efficiency",
    "faster than the first",
    "total",
    "speedup of total",
    "host capacity",
    "time step",
    "late at most",
    "out of order",
    "CPUs",
)


def body(view: SessionView) -> Html | None:
    every = [one for one in series_of(view) if any(arm.outcomes for arm in one.arms)]
    if not every:
        return None
    every.sort(key=_heading)  # stable: systems stay in the order in which they ran
    tables = (_table(view, heading, list(group)) for heading, group in groupby(every, _heading))
    return join([tag("p", ABOUT), *tables])


def _heading(series: ArmSeries) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in series.params)
    return f"{series.label}, {series.mode} mode" + (f" ({settings})" if settings else "")


def _table(view: SessionView, heading: str, group: Sequence[ArmSeries]) -> Html:
    names = dict.fromkeys(arm.name for one in group for arm in one.arms)
    order = sorted(
        names, key=lambda name: min(_size(arm) for one in group for arm in one.arms if arm.name == name)
    )
    found = [(one, arm) for name in order for one in group for arm in one.arms if arm.name == name]
    heads, rows = used(HEADS, [_row(view, group[0], series, arm) for series, arm in found])
    return table(heading, heads, rows, texts=2)


def _size(arm: ArmFigures) -> tuple[int, str]:
    return arm.cpus, arm.name


def _row(view: SessionView, first: ArmSeries, series: ArmSeries, arm: ArmFigures) -> list[Child]:
    work, total = arm.speedups.get(Window.WORK), arm.speedups.get(Window.TOTAL)
    host = view.capacity.get(arm.cpus)
    gate = units.gate(work, is_broken=arm.is_broken)
    return [
        arm.name,
        series.place,
        arm.counted_runs,
        _median(arm.work, arm.unit),
        units.speedup_of(arm, work),
        gate if gate == NOTHING else word_of(gate),
        f"{work.ratio * work.base_cpus / arm.cpus:.2%}" if work else NOTHING,
        _faster(view, first, series, arm),
        _median(arm.total, arm.unit),
        units.speedup_of(arm, total),
        with_interval(host.ratio, host.low, host.high, "x") if host and host.lane is series.lane else NOTHING,
        units.step(arm),
        units.blur(arm),
        units.disorder(arm),
        f"{' '.join(map(str, arm.pins)) or 'not pinned'} ({arm.placement})",
    ]


def word_of(gate: str) -> Html:
    """`> 1.6x PASS` with its word marked."""
    limit, _, outcome = gate.rpartition(" ")
    return join([f"{limit} " if limit else None, word(outcome)])


def _median(spread: Spread | None, unit: str) -> Child:
    if spread is None:
        return NOTHING
    ends = tag("span", units.span(spread, unit), class_="soft")
    return join([units.shown(spread.median, unit), tag("br"), ends])


def _faster(view: SessionView, first: ArmSeries, series: ArmSeries, arm: ArmFigures) -> str:
    other = next((one for one in first.arms if one.name == arm.name), None)
    if series is first or other is None or (first.lane, first.machine) != (series.lane, series.machine):
        return NOTHING
    if not (arm.samples and other.samples) or arm.is_broken or other.is_broken or arm.unit != other.unit:
        return NOTHING
    if arm.placement is not other.placement:
        return NOTHING
    tops, bottoms = ([float(work) for work, _ in one.samples] for one in (other, arm))
    ratio = stats.ratio_of_medians(tops, bottoms)
    if min(len(tops), len(bottoms)) < SMALLEST_LOOK:
        return f"{ratio:.3f}x"
    seen = stats.ratio_interval(tops, bottoms, view.alpha, (other.printed_step, arm.printed_step))
    return f"{ratio:.3f}x [{seen.low:.3f}, {seen.high:.3f}]"
