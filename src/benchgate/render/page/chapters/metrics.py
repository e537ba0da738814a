"""Metrics over CPU counts, and the histograms of latencies with their percentiles.

Takes a SessionView; gives the chapter, or None if no workload declares a metric, no gate limits one and no
guest printed a histogram. `panels_of` serves metrics.svg, too. Does not fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchgate.base.workload.metrics import Metric
from benchgate.judge.accounts.distributions import Distribution
from benchgate.render.figures import ArmFigures, ArmSeries, series_of
from benchgate.render.metrics import MetricFigures, metrics_of
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.look import legend, looks_of
from benchgate.render.page.pictures import by_cpus, histogram
from benchgate.render.page.pictures.by_cpus import Panel, PlotLine, PlotPoint
from benchgate.render.page.pictures.frame import short
from benchgate.render.page.pictures.histogram import HistogramShape
from benchgate.render.page.tables import figure, table, used
from benchgate.render.tables import metrics as metrics_table
from benchgate.render.tables import units
from benchgate.render.view import SessionView

STEPS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
TITLE = "Metrics, histograms and percentiles"
ORDER = 60
ABOUT = (
    "The marker is the median of the runs' own figures, which the gates use; every small dot is a run. A "
    "short line is the percentile of all counted runs together, from their merged histograms. The axis "
    "begins at 0."
)
SHAPES = (
    "Histograms of all counted runs together, on a logarithmic axis: the height is the share of the values "
    "in each eighth of a doubling. The percentiles are those of all these values."
)


@dataclass(frozen=True, slots=True)
class MetricPanel:
    heading: str
    panel: Panel
    unit: str
    names: tuple[tuple[int, str], ...]


def body(view: SessionView) -> Html | None:
    drawn, shapes = panels_of(view), _shapes(view)
    if not drawn and not shapes:
        return None
    entries = [(look, place) for place, look in looks_of(view).items()]
    pictures = [figure(by_cpus.draw(one.panel, partial(shown, unit=one.unit)), one.heading) for one in drawn]
    tables = [_table(view, series) for series in series_of(view)]
    return join(
        [
            tag("p", ABOUT) if drawn else None,
            legend(entries),
            tag("div", *pictures, class_="panels") if drawn else None,
            *tables,
            *_histograms(shapes),
        ]
    )


def shown(value: float, unit: str) -> str:
    """A value of the axis, short. Only a time has its unit here, because it changes with the size."""
    if unit != "ns" or not value:
        return short(value)
    size, name = next(step for step in STEPS if value >= step[0] or step[0] == 1)
    return f"{value / size:.4g} {name}"


def panels_of(view: SessionView) -> tuple[MetricPanel, ...]:
    """One panel per workload and metric."""
    looks = looks_of(view)
    found: dict[tuple[str, Metric, str], list[PlotLine]] = {}
    for series in series_of(view):
        figures = [one for one in metrics_of(view, series) if not one.arm.is_variant]
        for metric, unit in dict.fromkeys((one.metric, one.unit) for one in figures):
            points = tuple(_point(one) for one in figures if one.metric == metric)
            line = PlotLine(looks[series.place], series.place, points)
            found.setdefault((series.label, metric, unit), []).append(line)
    return tuple(_drawn(*key, lines) for key, lines in found.items())


def _point(one: MetricFigures) -> PlotPoint:
    samples = next(each.values for each in one.arm.metrics if each.metric == one.metric)
    words = " ".join(str(verdict.outcome) for verdict in one.verdicts)
    title = f"{one.arm.name} {units.shown(one.spread.median, one.unit)} {words}".strip()
    return PlotPoint(one.arm.cpus, one.spread.median, samples, level=one.merged, title=title)


def _drawn(label: str, metric: Metric, unit: str, lines: Sequence[PlotLine]) -> MetricPanel:
    said = f", {unit}" if unit not in ("", "ns") else ""
    heading = f"{label}: {metric.name}{said} ({metric.better} is better)"
    told = "; ".join(f"{line.name}: {', '.join(point.title for point in line.points)}" for line in lines)
    names = tuple((line.look, line.name) for line in lines)
    return MetricPanel(heading, Panel(f"{heading}. {told}", tuple(lines)), unit, names)


def _table(view: SessionView, series: ArmSeries) -> Html | None:
    """The same rows as in summary.md."""
    rows = metrics_table.rows_of(view, series)
    if not rows:
        return None
    heads, cells = used(metrics_table.NAMES, rows)
    return table(f"{series.name}, {series.lane}", heads, cells, texts=2, prose=1 if "gate" in heads else 0)


Shapes = Mapping[tuple[str, str, int], list[tuple[HistogramShape, Distribution]]]


def _shapes(view: SessionView) -> Shapes:
    """The systems' shapes, by workload, histogram and CPU count."""
    looks = looks_of(view)
    found: dict[tuple[str, str, int], list[tuple[HistogramShape, Distribution]]] = {}
    for series in series_of(view):
        for arm in series.arms:
            for one in view.distributions.get(_cell_id(view, series, arm), ()):
                shape = HistogramShape(
                    looks[series.place], f"{series.place}, {arm.name}", one.columns, one.count
                )
                found.setdefault((series.label, one.name, arm.cpus), []).append((shape, one))
    return found


def _cell_id(view: SessionView, series: ArmSeries, arm: ArmFigures) -> str:
    """The rows of an arm share their cell."""
    key = (series.system, series.workload, series.params, series.mode, series.lane)
    for row in view.rows:
        if (row.system, row.workload, row.params, row.mode, row.lane) == key and row.cell.id.endswith(
            f"-{arm.name}"
        ):
            return row.cell.id
    return ""


def _histograms(shapes: Shapes) -> list[Html]:
    if not shapes:
        return []
    pictures = (
        figure(
            histogram.draw(_heading(key), [shape for shape, _ in some], partial(shown, unit=some[0][1].unit)),
            _heading(key),
        )
        for key, some in shapes.items()
    )
    rows = [_percentiles(key, shape, one) for key, some in shapes.items() for shape, one in some]
    heads = ("histogram", "system, lane, arm", "values", "p50", "p90", "p99", "p99.9", "p99.99", "largest")
    return [
        tag("p", SHAPES),
        tag("div", *pictures, class_="panels"),
        table("Percentiles of all counted runs together", heads, rows, texts=2),
    ]


def _heading(key: tuple[str, str, int]) -> str:
    label, name, cpus = key
    return f"{label}: {name}, {cpus} CPU{'s' if cpus > 1 else ''}"


def _percentiles(key: tuple[str, str, int], shape: HistogramShape, one: Distribution) -> list[Child]:
    values = (units.shown(value, one.unit) for _, value in one.percentiles)
    return [f"{key[0]}: {key[1]}", shape.name, f"{one.count:,}", *values]
