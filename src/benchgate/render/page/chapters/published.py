"""What others published of the same workloads: ratios on their machines, beside ours.

Takes a PageView; gives the chapter, or None if nobody published a row of this session's workloads. No gate
reads it. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from benchgate.base.cells import Window
from benchgate.base.text import counted
from benchgate.plan.published import PublishedRow
from benchgate.render.figures import ArmSeries
from benchgate.render.page.html import Child, Html, tag
from benchgate.render.page.page_view import PageView
from benchgate.render.page.tables import NOTHING, more, table

TITLE = "Published rows"
ORDER = 50
ABOUT = (
    "These figures are not ours: somebody else measured them on another machine, with another harness, and "
    "benchgate verified none of them. Only ratios within one row are shown, because times of two machines "
    "cannot be compared. No verdict uses them. Rows of this session have the name: here."
)


def body(page: PageView) -> Html | None:
    tables = [
        _table(page, source, workload, list(group))
        for (source, workload), group in groupby(page.view.published, lambda one: (one.source, one.workload))
    ]
    return more(counted(len(tables), "table"), tag("p", ABOUT), *tables) if tables else None


def _table(page: PageView, source: str, workload: str, rows: Sequence[PublishedRow]) -> Html:
    keys = list(dict.fromkeys(key for row in rows for _, ratios in row.systems for key, _ in ratios))
    body: list[list[Child]] = [
        [name, row.name, *(_ratio(dict(ratios).get(key)) for key in keys), _about(row)]
        for row in rows
        for name, ratios in row.systems
    ]
    body += [
        [series.place, "here", *(_ratio(found.get(key)) for key in keys), _settings(series)]
        for series, found in _ours(page, rows[0], keys)
    ]
    heads = ("system", "row", *keys, "machine, date, parameters")
    return table(f"{workload}: {source}", heads, body, texts=2, prose=1)


def _ratio(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}x" if value >= 1000 else f"{value:.3f}x"


def _about(row: PublishedRow) -> Html:
    settings = " ".join(f"{name}={value}" for name, value in row.params)
    told = [row.host, row.date, counted(row.runs, "run") if row.runs else "", settings, row.note]
    return tag("span", "; ".join(filter(None, told)) or NOTHING, class_="reason")


def _settings(series: ArmSeries) -> Html:
    return tag(
        "span", " ".join(f"{name}={value}" for name, value in series.params) or NOTHING, class_="reason"
    )


def _ours(
    page: PageView, row: PublishedRow, keys: Sequence[str]
) -> Iterator[tuple[ArmSeries, Mapping[str, float]]]:
    """The same ratios of this session's series, as far as it has them."""
    for series in page.every:
        if (series.workload, series.mode) != (row.workload, row.mode):
            continue
        found = {**_speedups(series), **_tails(series)}
        if any(key in found for key in keys):
            yield series, found


def _speedups(series: ArmSeries) -> Mapping[str, float]:
    return {
        f"{arm.name} {window}": seen.ratio
        for arm in series.arms
        for window in Window
        if (seen := arm.speedups.get(window)) is not None and seen.base_cpus == 1 and not arm.is_broken
    }


def _tails(series: ArmSeries) -> Mapping[str, float]:
    """Ratios such as `wakeup p99/p50` of the arm with the most CPUs, from all its runs together."""
    arm = max(series.arms, key=lambda one: one.cpus)
    merged = {
        (metric.metric.of, f"{metric.metric.at:g}"): metric.merged for metric in arm.metrics if metric.merged
    }
    middles = {name: value for (name, at), value in merged.items() if at == "50"}
    return {
        f"{name} p{at}/p50": value / middle
        for (name, at), value in merged.items()
        if value and at != "50" and (middle := middles.get(name))
    }
