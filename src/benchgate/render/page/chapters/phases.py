"""Work against total: what the total window has before the work begins and after it ends.

Takes a SessionView; gives the chapter, or None if no arm has a total that differs from its work. Does not
fail.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchgate.evidence.rows import RunRow
from benchgate.render.figures import ArmFigures, ArmSeries, series_of
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.look import legend, looks_of
from benchgate.render.page.pictures import bars
from benchgate.render.page.pictures.bars import Bar
from benchgate.render.page.tables import NOTHING, figure, table, used
from benchgate.render.tables import units
from benchgate.render.view import SessionView

TITLE = "Work against total"
ORDER = 50
ABOUT = (
    "The total window begins before the first worker is started and ends after the last one is joined; the "
    "work window, from the first worker's start to the last one's end, lies inside it. A bar shows what is "
    "beyond the work, as a share of the total: dark until the work begins (start), light after its end "
    "(join). Medians."
)
HEADS = ("arm", "system, lane", "total", "start", "work", "join", "beyond the work")


def body(view: SessionView) -> Html | None:
    looks = looks_of(view)
    groups: dict[str, list[tuple[ArmSeries, ArmFigures]]] = {}
    for series in series_of(view):
        for arm in series.arms:
            if arm.samples and not arm.is_broken and any(total > work for work, total in arm.samples):
                groups.setdefault(f"{series.label}, {series.mode} mode", []).append((series, arm))
    if not groups:
        return None
    leads = _leads(view.rows)
    pictures = (figure(_picture(name, group, leads, looks), name) for name, group in groups.items())
    tables = (_table(name, group, leads) for name, group in groups.items())
    entries = [(look, place) for place, look in looks.items()]
    return join([tag("p", ABOUT), legend(entries), tag("div", *pictures, class_="panels"), *tables])


Leads = Mapping[tuple[str, str, str], float]


def _leads(rows: Sequence[RunRow]) -> Leads:
    """The median share of the total before the work, by system, lane and cell; only where each run has it."""
    shares: dict[tuple[str, str, str], list[float | None]] = {}
    for row in rows:
        if row.counts and row.total:
            share = None if row.lead is None else row.lead / row.total
            shares.setdefault(_key(row), []).append(share)
    whole = {key: [one for one in found if one is not None] for key, found in shares.items()}
    return {
        key: statistics.median(whole[key]) for key, found in shares.items() if len(whole[key]) == len(found)
    }


def _key(row: RunRow) -> tuple[str, str, str]:
    return (
        row.system,
        str(row.lane),
        f"{row.cell.row} smp{row.cpus}" + (f"-{row.variant}" if row.variant else ""),
    )


def _shares(series: ArmSeries, arm: ArmFigures, leads: Leads) -> tuple[float, float | None]:
    """The share of the total that is beyond the work, and the share that is before it."""
    beyond = statistics.median((total - work) / total for work, total in arm.samples)
    found = [
        lead
        for (system, lane, cell), lead in leads.items()
        if (system, lane) == (series.system, series.lane)
        and cell.endswith(f" {arm.name}")
        and cell.startswith(f"{series.label}-")
    ]
    return beyond, min(found[0], beyond) if len(found) == 1 else None


def _picture(
    name: str, group: Sequence[tuple[ArmSeries, ArmFigures]], leads: Leads, looks: Mapping[str, int]
) -> Html:
    drawn = []
    for series, arm in sorted(group, key=lambda one: (one[1].cpus, one[1].name)):
        beyond, lead = _shares(series, arm, leads)
        parts = (
            (("start", lead), ("join", beyond - lead)) if lead is not None else (("start and join", beyond),)
        )
        drawn.append(Bar(looks[series.place], arm.name, parts, f"{beyond:.2%}"))
    told = ", ".join(f"{one.name} {one.shown}" for one in drawn)
    return bars.draw(f"What the total of {name} has beyond the work: {told}", drawn, _percent)


def _percent(value: float) -> str:
    return f"{100 * value:.3g}%"


def _table(name: str, group: Sequence[tuple[ArmSeries, ArmFigures]], leads: Leads) -> Html:
    order = sorted(group, key=lambda one: (one[1].cpus, one[1].name))
    heads, rows = used(HEADS, [_row(series, arm, leads) for series, arm in order])
    return table(f"{name}: medians by phase", heads, rows, texts=2)


def _row(series: ArmSeries, arm: ArmFigures, leads: Leads) -> list[Child]:
    total = statistics.median(total for _, total in arm.samples)
    work = statistics.median(work for work, _ in arm.samples)
    beyond, lead = _shares(series, arm, leads)
    return [
        arm.name,
        series.place,
        units.shown(total, arm.unit),
        NOTHING if lead is None else units.shown(lead * total, arm.unit),
        units.shown(work, arm.unit),
        NOTHING if lead is None else units.shown((beyond - lead) * total, arm.unit),
        f"{beyond:.3%}",
    ]
