"""Every arm with its absolute figures and intervals in one table, the systems of a row beside each other.

Takes a PageView; gives the chapter, or None without a run. Times of systems are compared with those of one
system for the whole session, where both are on one lane and one machine, and start alike. Does not fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchgate.base.cells import Lane, Window
from benchgate.base.gates import VERIFIED
from benchgate.base.statistics.stats import Spread
from benchgate.base.system.comparable import conditions_of
from benchgate.base.text import counted
from benchgate.render.figures import ArmFigures, ArmSeries
from benchgate.render.page.details.phases import Leads, leads_of, shares
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.page_view import PageRow, PageView, arms_of
from benchgate.render.page.tables import NOTHING, TableLine, more, table, used
from benchgate.render.tables import units
from benchgate.render.view import SessionView

TITLE = "Side by side"
ORDER = 20
ABOUT = (
    "Medians, with the smallest and the largest run below them if they differ; speedups are ratios of "
    "medians within one system and lane, in brackets the exact bootstrap interval. Start and join are what "
    "the total has before and after the work."
)
HEADS = (
    "arm",
    "system, lane",
    "runs",
    "work",
    "speedup of work",
    "efficiency",
    "faster",
    "total",
    "start",
    "join",
    "speedup of total",
    "host capacity",
    "time step",
    "step error",
    "out of order",
    "CPUs",
)


def body(page: PageView) -> Html | None:
    rows = [row for row in page.rows if row.series]
    if not rows:
        return None
    firsts = _references(page)
    made = SideLines(page, firsts, leads_of(page.view.rows))
    lines = [made.line(row, series, arm) for row in rows for series, arm in arms_of(row.series)]
    heads, cells = used(_heads(firsts), [line.cells for line in lines])
    kept = [TableLine(row, line.find, line.place, line.word) for row, line in zip(cells, lines, strict=True)]
    whole = table("All arms", heads, kept, texts=2)
    told = tag("p", f"{ABOUT} {_told(firsts)}".strip())
    is_decided = any(verdict.gate != VERIFIED for verdict in page.view.decided)
    return more(
        counted(len(lines), "arm"), told, tag("div", whole, class_="tall sort"), is_open=not is_decided
    )


Clock = tuple[Lane, str, str]
"""A lane, a machine and a start: only times of one of them can be compared."""


def _clock(series: ArmSeries) -> Clock:
    return (series.lane, *conditions_of(series.system))


def _references(page: PageView) -> Mapping[Clock, str]:
    """The system with which others are compared: the first one that ran, the same in the whole session."""
    result: dict[Clock, str] = {}
    several: set[Clock] = set()
    for series in page.every:
        if result.setdefault(_clock(series), series.system) != series.system:
            several.add(_clock(series))
    return {clock: system for clock, system in result.items() if clock in several}


def _heads(firsts: Mapping[Clock, str]) -> tuple[str, ...]:
    names = set(firsts.values())
    told = f"faster than {names.pop()}" if len(names) == 1 else "faster than the reference"
    return tuple(told if head == "faster" else head for head in HEADS)


def _told(firsts: Mapping[Clock, str]) -> str:
    if not firsts:
        return ""
    known = [f"{system} (lane {lane})" for (lane, *_), system in firsts.items()]
    return f"Faster: how many times faster the work is than on {', '.join(known)}, with the same CPUs."


@dataclass(frozen=True, slots=True)
class SideLines:
    """What all lines of the table need."""

    page: PageView
    references: Mapping[Clock, str]
    leads: Leads

    def line(self, row: PageRow, series: ArmSeries, arm: ArmFigures) -> TableLine:
        work = arm.speedups.get(Window.WORK)
        shown = "INVALID" if arm.is_broken else work.word if work else ""
        first = self.references.get(_clock(series), series.system)
        same = (of for of in row.series if (of.system, of.lane) == (first, series.lane))
        other = next(same, None)
        cells = _cells(self.page.view, None if other is series else other, self.leads, series, arm)
        gated = None if arm.is_variant else row.scaled(series, arm.cpus)
        if gated is not None and gated.base_cpus is not None:
            share = None if gated.ratio is None else gated.ratio * gated.base_cpus / arm.cpus
            of_metric = NOTHING if share is None else f"{share:.2%} of {gated.metric}"
            cells[HEADS.index("efficiency") - 1] = of_metric
        text = f"{series.label} {arm.name}"
        name = tag("a", text, href=f"#{row.id}")
        find = f"{text} {series.place}"
        return TableLine([name, *cells], find, self.page.looks.get(series.place), shown.lower())


def _cells(
    view: SessionView, other: ArmSeries | None, leads: Leads, series: ArmSeries, arm: ArmFigures
) -> list[Child]:
    work = arm.speedups.get(Window.WORK)
    usual = units.cells_of(series, arm, view.capacity)
    start, ending = _around(series, arm, leads)
    own: dict[str, Child] = {
        "system, lane": series.place,
        "work": _median(arm.work, arm.unit),
        "efficiency": f"{work.ratio * work.base_cpus / arm.cpus:.2%}" if work else NOTHING,
        "faster": _faster(view, other, arm) if other else NOTHING,
        "total": _median(arm.total, arm.unit),
        "start": start,
        "join": ending,
    }
    return [own.get(head, usual.get(head)) for head in HEADS[1:]]


def _median(spread: Spread | None, unit: str) -> Child:
    if spread is None:
        return NOTHING
    shown, ends = units.shown(spread.median, unit), units.span(spread, unit)
    if spread.low == spread.high:
        return shown
    return join([shown, tag("br"), tag("span", ends, class_="soft")])


def _around(series: ArmSeries, arm: ArmFigures, leads: Leads) -> tuple[str, str]:
    """Start and join."""
    if not arm.samples or arm.total is None or arm.is_broken:
        return NOTHING, NOTHING
    beyond, lead = shares(series, arm, leads)
    if lead is None:
        return NOTHING, NOTHING
    times = (lead * arm.total.median, (beyond - lead) * arm.total.median)
    start, ending = (units.shown(round(time), arm.unit) for time in times)
    return start, ending


def _faster(view: SessionView, first: ArmSeries, arm: ArmFigures) -> str:
    other = first.arm(arm.name)
    if other is None or not (arm.samples and other.samples) or arm.is_broken or other.is_broken:
        return NOTHING
    if (arm.unit, arm.placement) != (other.unit, other.placement):
        return NOTHING
    return units.ratio_of(other, arm, view.alpha, 3)
