"""Metrics over CPU counts, and the histograms of latencies with their percentiles.

Takes a PageView; gives the part, or None if no workload declares a metric, no gate limits one and no guest
printed a histogram. All panels of one metric have one axis. `panels_of` serves metrics.svg, too. Does not
fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from benchgate.base.workload.metrics import NS, SHARE, Metric, time_size
from benchgate.judge.accounts.distributions import Distribution
from benchgate.render.figures import ArmFigures, ArmSeries
from benchgate.render.metrics import MetricFigures
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.page_view import PageView
from benchgate.render.page.pictures import by_cpus, histogram
from benchgate.render.page.pictures.by_cpus import Panel, PlotLimit, PlotLine, PlotPoint
from benchgate.render.page.pictures.frame import short
from benchgate.render.page.pictures.histogram import HistogramShape
from benchgate.render.page.tables import figure, table, used
from benchgate.render.tables import metrics as metrics_table
from benchgate.render.tables import units
from benchgate.render.view import SessionView

MUCH = 0.1
"""From this share on, values below the clock's step are pointed out."""
TITLE = "Metrics, histograms and percentiles"
ORDER = 20
IS_PICTURE = False
ABOUT = (
    "The marker is the median of the runs' own figures, which the gates use; every small dot is a run. A "
    "short line is the percentile of all counted runs together, from their merged histograms. A line with "
    "ticks at its ends is a gate's threshold at that CPU count. The axis begins at 0, and is the same for "
    "all panels of one metric."
)
SHAPES = (
    "Histograms of all counted runs together, on a logarithmic axis: the height is the share of the values "
    "in each eighth of a doubling. The percentiles are those of all these values."
)


@dataclass(frozen=True, slots=True)
class MetricPanel:
    heading: str
    panel: Panel
    metric: str
    unit: str
    names: tuple[tuple[int, str], ...]


def about(page: PageView) -> str:
    drawn = ABOUT if any(page.metrics.values()) else ""
    return " ".join(filter(None, (drawn, SHAPES if page.view.distributions else "")))


def body(page: PageView) -> Html | None:
    drawn, shapes = panels_of(page), _shapes(page)
    if not drawn and not shapes:
        return None
    pictures = [figure(by_cpus.draw(one.panel, partial(shown, unit=one.unit)), one.heading) for one in drawn]
    panels = tag("div", *pictures, class_="panels") if drawn else None
    return join([panels, _table(page), *_histograms(shapes)])


def shown(value: float, unit: str) -> str:
    """A value of the axis, short. A time has its unit here, because it changes with the size."""
    if unit == SHARE:
        return f"{short(100 * value)}%"
    if unit != "ns" or not value:
        return short(value)
    size, name = time_size(value)
    return f"{value / size:.4g} {name}"


def panels_of(page: PageView) -> tuple[MetricPanel, ...]:
    """One panel per workload and metric."""
    every: dict[tuple[str, str], list[Panel]] = {}
    for one in _panels(page, page.every):
        every.setdefault((one.metric, one.unit), []).append(one.panel)
    return tuple(
        replace(one, panel=panel)
        for one in _panels(page, page.series)
        for panel in by_cpus.on_one_axis([one.panel], every[one.metric, one.unit])
    )


def _panels(page: PageView, series: Sequence[ArmSeries]) -> list[MetricPanel]:
    found: dict[tuple[str, Metric, str], list[tuple[PlotLine, list[PlotLimit]]]] = {}
    for one in series:
        figures = [each for each in page.metrics[one.key] if not each.arm.is_variant]
        for metric, unit in dict.fromkeys((each.metric, each.unit) for each in figures):
            mine = [each for each in figures if each.metric == metric]
            line = PlotLine(page.looks[one.place], one.place, tuple(map(_point, mine)))
            found.setdefault((one.label, metric, unit), []).append((line, [*_limits(mine)]))
    return [_drawn(*key, lines) for key, lines in found.items()]


def _limits(figures: Sequence[MetricFigures]) -> Iterator[PlotLimit]:
    """The thresholds of the figures themselves, not those of ratios."""
    for one in figures:
        for verdict in one.verdicts:
            if verdict.threshold is not None and units.unit_of(verdict) == one.unit and verdict.ratio is None:
                title = f"threshold: {one.arm.name} {units.limit(verdict)}"
                yield PlotLimit(one.arm.cpus, verdict.threshold, title)


def _point(figures: MetricFigures) -> PlotPoint:
    samples = next(each.values for each in figures.arm.metrics if each.metric == figures.metric)
    words = " ".join(str(verdict.outcome) for verdict in figures.verdicts)
    title = f"{figures.arm.name} {units.shown(figures.spread.median, figures.unit)} {words}".strip()
    return PlotPoint(figures.arm.cpus, figures.spread.median, samples, level=figures.merged, title=title)


def _drawn(
    label: str, metric: Metric, unit: str, found: Sequence[tuple[PlotLine, list[PlotLimit]]]
) -> MetricPanel:
    lines = tuple(line for line, _ in found)
    limits = {(one.cpus, one.value): one for _, some in found for one in some}
    said = f", {unit}" if unit not in ("", NS, SHARE) else ""
    heading = f"{label}: {metric.name}{said} ({metric.better} is better)"
    told = "; ".join(f"{line.name}: {', '.join(point.title for point in line.points)}" for line in lines)
    names = tuple((line.look, line.name) for line in lines)
    panel = Panel(f"{heading}. {told}", lines, limits=tuple(limits.values()))
    return MetricPanel(heading, panel, metric.name, unit, names)


def _table(page: PageView) -> Html | None:
    """The same lines as in summary.md, the systems of the row in one table."""
    lines = [
        [line[0], line[1], one.place, *line[2:]]
        for one in page.series
        for line in metrics_table.rows_of(page.metrics[one.key])
    ]
    if not lines:
        return None
    names = metrics_table.NAMES
    heads, cells = used((names[0], names[1], "system, lane", *names[2:]), lines)
    return table("Metrics", heads, cells, texts=3, prose=1 if "gate" in heads else 0)


@dataclass(frozen=True, slots=True)
class ShownDistribution:
    shape: HistogramShape
    of: Distribution
    step: int
    """The largest step of the instruction clock, in ns; 0: wall time."""

    @property
    def below(self) -> float:
        """The share of the values that are shorter than the clock's step."""
        if self.of.unit != NS or not self.of.count:
            return 0.0
        return sum(count for _, high, count in self.of.columns if high <= self.step) / self.of.count

    @property
    def warning(self) -> str:
        """Empty if few values are."""
        if self.below < MUCH:
            return ""
        return (
            f"{self.shape.name}: {self.below:.0%} of the values are below the clock's step of "
            f"{units.shown(self.step, NS)}, so how they differ from each other is the clock's doing"
        )


Shapes = Mapping[tuple[str, str, int], list[ShownDistribution]]


def _shapes(page: PageView) -> Shapes:
    """The systems' shapes, by workload, histogram and CPU count."""
    looks, view = page.looks, page.view
    found: dict[tuple[str, str, int], list[ShownDistribution]] = {}
    for series in page.series:
        for arm in series.arms:
            step = arm.resolution.step if arm.resolution else 0
            for one in view.distributions.get(_cell_id(view, series, arm), ()):
                name = f"{series.place}, {arm.name}"
                shape = HistogramShape(looks[series.place], name, one.columns, one.count)
                key = series.label, one.name, arm.cpus
                found.setdefault(key, []).append(ShownDistribution(shape, one, step))
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
    pictures = (_histogram(key, some) for key, some in shapes.items())
    rows = [_percentiles(key, one.shape, one.of) for key, some in shapes.items() for one in some]
    heads = ("histogram", "system, lane, arm", "values", "p50", "p90", "p99", "p99.9", "p99.99", "largest")
    return [
        tag("div", *pictures, class_="panels"),
        table("Percentiles of all counted runs together", heads, rows, texts=2),
    ]


def _histogram(key: tuple[str, str, int], some: Sequence[ShownDistribution]) -> Html:
    axis = partial(shown, unit=some[0].of.unit)
    warnings = (tag("p", one.warning, class_="warning") for one in some if one.warning)
    return figure(histogram.draw(_heading(key), [one.shape for one in some], axis), _heading(key), *warnings)


def _heading(key: tuple[str, str, int]) -> str:
    label, name, cpus = key
    return f"{label}: {name}, {cpus} CPU{'s' if cpus > 1 else ''}"


def _percentiles(key: tuple[str, str, int], shape: HistogramShape, distribution: Distribution) -> list[Child]:
    values = (units.shown(value, distribution.unit) for _, value in distribution.percentiles)
    return [f"{key[0]}: {key[1]}", shape.name, f"{distribution.count:,}", *values]
