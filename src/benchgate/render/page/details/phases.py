"""Work against total: what the total window has before the work begins and after it ends.

Takes a PageView; gives the part, or None if no arm has a total that differs from its work. Does not
fail.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchgate.evidence.rows import RunRow
from benchgate.render.figures import ArmFigures, ArmSeries
from benchgate.render.page.html import Html
from benchgate.render.page.page_view import PageView, arms_of
from benchgate.render.page.pictures import bars
from benchgate.render.page.pictures.bars import Bar
from benchgate.render.page.tables import figure

TITLE = "What the total has beyond the work"
ORDER = 70
IS_WHY = False
ABOUT = (
    "The total window begins before the first worker is started and ends after the last one is joined; the "
    "work window, from the first worker's start to the last one's end, lies inside it. A bar shows what is "
    "beyond the work, as a share of the total: dark until the work begins (start), light after its end "
    "(join). Medians."
)


def about(page: PageView) -> str:
    return ABOUT if any(map(_is_drawn, (arm for series in page.every for arm in series.arms))) else ""


def _is_drawn(arm: ArmFigures) -> bool:
    return bool(arm.samples) and not arm.is_broken and any(total > work for work, total in arm.samples)


def body(page: PageView) -> Html | None:
    found = [(arm_series, arm) for arm_series, arm in arms_of(page.series) if _is_drawn(arm)]
    if not found:
        return None
    leads = leads_of(page.view.rows)
    drawn = []
    for series, arm in found:
        beyond, lead = shares(series, arm, leads)
        parts = (
            (("start", lead), ("join", beyond - lead)) if lead is not None else (("start and join", beyond),)
        )
        drawn.append(Bar(page.looks[series.place], arm.name, parts, f"{beyond:.2%}"))
    told = ", ".join(f"{bar.name} {bar.shown}" for bar in drawn)
    return figure(bars.draw(f"{TITLE}: {told}", drawn, lambda value: f"{100 * value:.3g}%"), TITLE)


Leads = Mapping[tuple[str, str, str], float]


def leads_of(rows: Sequence[RunRow]) -> Leads:
    """The median share of the total before the work, by system, lane and cell; only where each run has it."""
    shares: dict[tuple[str, str, str], list[float | None]] = {}
    for row in rows:
        if row.counts and row.total:
            share = None if row.lead is None else row.lead / row.total
            shares.setdefault(_key(row), []).append(share)
    whole = {key: [number for number in value if number is not None] for key, value in shares.items()}
    return {
        key: statistics.median(whole[key]) for key, value in shares.items() if len(whole[key]) == len(value)
    }


def _key(row: RunRow) -> tuple[str, str, str]:
    variant = f"-{row.cell.variant}" if row.cell.variant else ""
    return row.cell.system, str(row.lane), f"{row.cell.row} smp{row.cell.cpus}{variant}"


def shares(series: ArmSeries, arm: ArmFigures, leads: Leads) -> tuple[float, float | None]:
    """The share of the total that is beyond the work, and the share that is before it."""
    beyond = statistics.median((total - work) / total for work, total in arm.samples)
    result = [
        lead
        for (system, lane, cell), lead in leads.items()
        if (system, lane) == (series.system, series.lane)
        and cell.endswith(f" {arm.name}")
        and cell.startswith(f"{series.label}-")
    ]
    return beyond, min(result[0], beyond) if len(result) == 1 else None
