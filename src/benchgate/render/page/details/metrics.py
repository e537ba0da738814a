"""Metrics over CPU counts, and the histograms of latencies with their percentiles.

Takes a PageView; gives the part, or None if no workload declares a metric, no gate limits one and no guest
printed a histogram. There is a picture only of what can be compared: CPU counts, or systems. All panels of
one metric have one axis, unless they differ by more than ten times. `panels_of` serves metrics.svg, too.
Histograms are outlines on a logarithmic axis, several systems over each other. Does not fail.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from benchgate.base import grouped
from benchgate.base.workload.metrics import NS, SHARE, Metric, time_size
from benchgate.judge.accounts.distributions import Distribution
from benchgate.render.figures import ArmFigures, ArmSeries, key_of
from benchgate.render.metrics import MetricFigures
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.look import colour_class, dash, marker
from benchgate.render.page.page_view import PageView
from benchgate.render.page.pictures import by_cpus
from benchgate.render.page.pictures.by_cpus import Panel, PlotLimit, PlotLine, PlotPoint
from benchgate.render.page.pictures.frame import (
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    level,
    on_scales,
    path,
    picture,
    short,
    ticks,
)
from benchgate.render.page.tables import figure, table, used
from benchgate.render.tables import metrics as metrics_table
from benchgate.render.tables import units
from benchgate.render.view import SessionView

MUCH = 0.1
"""From this share on, values below the clock's step are pointed out."""
TITLE = "Metrics, histograms and percentiles"
ORDER = 60
IS_WHY = False
ABOUT = (
    "The marker is the median of the runs' own figures, which the gates use; every small dot is a run. A "
    "short line is the percentile of all counted runs together, from their merged histograms. A line with "
    "ticks at its ends is a gate's threshold at that CPU count. The axis begins at 0, and is the same for "
    "all panels of one metric, unless they differ by more than ten times."
)
SHAPES = (
    "Histograms of all counted runs together, on a logarithmic axis: the height is the share of the values "
    "in each eighth of a doubling. The percentiles are those of all these values."
)


@dataclass(frozen=True, slots=True)
class MetricPanel:
    panel: Panel
    metric: str
    unit: str


def about(page: PageView) -> str:
    drawn = ABOUT if any(page.metrics.values()) else ""
    return " ".join(filter(None, (drawn, SHAPES if page.view.distributions else "")))


def body(page: PageView) -> Html | None:
    drawn, shapes, lines = panels_of(page), _shapes(page), _table(page)
    if lines is None and not shapes:
        return None
    pictures = [
        figure(by_cpus.draw(of.panel, partial(shown, unit=of.unit)), of.panel.heading) for of in drawn
    ]
    panels = tag("div", *pictures, class_="panels") if pictures else None
    return join([lines, panels, *_histograms(shapes)])


def shown(value: float, unit: str) -> str:
    """A value of the axis, short. A time has its unit here, because it changes with the size."""
    if unit == SHARE:
        return f"{short(100 * value)}%"
    if unit != "ns" or not value:
        return short(value)
    size, name = time_size(value)
    return f"{value / size:.4g} {name}"


def panels_of(page: PageView) -> tuple[MetricPanel, ...]:
    """One panel per workload and metric, of those with something to compare."""
    every = grouped(_panels(page, page.every), key=lambda panel: (panel.metric, panel.unit))
    return tuple(
        replace(mine, panel=panel)
        for mine in _panels(page, page.series)
        for panel in by_cpus.on_one_axis([mine.panel], [one.panel for one in every[mine.metric, mine.unit]])
        if panel.compares
    )


def _panels(page: PageView, series: Sequence[ArmSeries]) -> list[MetricPanel]:
    result: dict[tuple[str, Metric, str], list[tuple[PlotLine, list[PlotLimit]]]] = {}
    for arm_series in series:
        figures = [each for each in page.metrics[arm_series.key] if not each.arm.is_variant]
        for metric, unit in dict.fromkeys((each.metric, each.unit) for each in figures):
            mine = [each for each in figures if each.metric == metric]
            line = PlotLine(page.looks[arm_series.place], arm_series.place, tuple(map(_point, mine)))
            result.setdefault((arm_series.label, metric, unit), []).append((line, [*_limits(mine)]))
    return [
        _drawn(label if len(part) == len(lines) else f"{label} on {part[0][0].name}", metric, unit, part)
        for (label, metric, unit), lines in result.items()
        for part in on_scales(lines, lambda one: by_cpus.top(one[0]))
    ]


def _limits(figures: Sequence[MetricFigures]) -> Iterator[PlotLimit]:
    """The thresholds of the figures themselves, not those of ratios."""
    for metric_figures in figures:
        for verdict in metric_figures.verdicts:
            if (
                verdict.threshold is not None
                and units.unit_of(verdict) == metric_figures.unit
                and verdict.ratio is None
            ):
                title = f"threshold: {metric_figures.arm.name} {units.limit(verdict)}"
                yield PlotLimit(metric_figures.arm.cpus, verdict.threshold, title)


def _point(figures: MetricFigures) -> PlotPoint:
    samples = next(each.values for each in figures.arm.metrics if each.metric == figures.metric)
    title = f"{figures.arm.name} {units.shown(figures.spread.median, figures.unit)}"
    return PlotPoint(figures.arm.cpus, figures.spread.median, samples, level=figures.merged, title=title)


def _drawn(
    label: str, metric: Metric, unit: str, found: Sequence[tuple[PlotLine, list[PlotLimit]]]
) -> MetricPanel:
    lines = tuple(line for line, _ in found)
    limits = {(limit.cpus, limit.value): limit for _, some in found for limit in some}
    said = f", {unit}" if unit not in ("", NS, SHARE) else ""
    heading = f"{label}: {metric.name}{said} ({metric.better} is better)"
    told = "; ".join(f"{line.name}: {', '.join(point.title for point in line.points)}" for line in lines)
    panel = Panel(f"{heading}. {told}", lines, limits=tuple(limits.values()), heading=heading)
    return MetricPanel(panel, metric.name, unit)


def _table(page: PageView) -> Html | None:
    """The same lines as in summary.md without the gates, the systems of the row in one table."""
    lines = [
        [line[0], line[1], series.place, *line[2:-1]]
        for series in page.series
        for line in metrics_table.rows_of(page.metrics[series.key])
    ]
    if not lines:
        return None
    names = metrics_table.NAMES[:-1]
    heads, cells = used((names[0], names[1], "system, lane", *names[2:]), lines)
    return table("Metrics", heads, cells, texts=3)


@dataclass(frozen=True, slots=True)
class ShownDistribution:
    look: int
    name: str
    """The system, the lane and the arm."""
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
            f"{self.name}: {self.below:.0%} of the values are below the clock's step of "
            f"{units.shown(self.step, NS)}, so how they differ from each other is the clock's doing"
        )


Shapes = Mapping[tuple[str, str, int], list[ShownDistribution]]


def _shapes(page: PageView) -> Shapes:
    """The systems' shapes, by workload, histogram and CPU count."""
    looks, view = page.looks, page.view
    result: dict[tuple[str, str, int], list[ShownDistribution]] = {}
    for series in page.series:
        for arm in series.arms:
            step = arm.resolution.step if arm.resolution else 0
            for distribution in view.distributions.get(_cell_id(view, series, arm), ()):
                name = f"{series.place}, {arm.name}"
                shape = ShownDistribution(looks[series.place], name, distribution, step)
                result.setdefault((series.label, distribution.name, arm.cpus), []).append(shape)
    return result


def _cell_id(view: SessionView, series: ArmSeries, arm: ArmFigures) -> str:
    """The rows of an arm share their cell."""
    for row in view.rows:
        if key_of(row) == series.key and row.cell.id.endswith(f"-{arm.name}"):
            return row.cell.id
    return ""


def _histograms(shapes: Shapes) -> list[Html]:
    if not shapes:
        return []
    arms = Counter((label, name) for (label, name, _), some in shapes.items() for _ in some)
    pictures = [_histogram(key, some) for key, some in shapes.items() if arms[key[:2]] > 1]
    rows = [_percentiles(key, shape) for key, some in shapes.items() for shape in some]
    heads = ("histogram", "system, lane, arm", "values", "p50", "p90", "p99", "p99.9", "p99.99", "largest")
    whole = table("Percentiles of all counted runs together", heads, rows, texts=2)
    warnings = [shape.warning for some in shapes.values() for shape in some if shape.warning]
    told = [tag("p", warning, class_="warning") for warning in warnings]
    return [*([tag("div", *pictures, class_="panels")] if pictures else []), whole, *told]


def _histogram(key: tuple[str, str, int], some: Sequence[ShownDistribution]) -> Html:
    axis = partial(shown, unit=some[0].of.unit)
    return figure(draw(_heading(key), some, axis), _heading(key))


def _heading(key: tuple[str, str, int]) -> str:
    label, name, cpus = key
    return f"{label}: {name}, {cpus} CPU{'s' if cpus > 1 else ''}"


def _percentiles(key: tuple[str, str, int], shape: ShownDistribution) -> list[Child]:
    values = (units.shown(value, shape.of.unit) for _, value in shape.of.percentiles)
    return [f"{key[0]}: {key[1]}", shape.name, f"{shape.of.count:,}", *values]


# ---- the picture

HEIGHT, BOTTOM = 170, 24
EDGE = 24
"""No value is written below the axis so near to the right edge: it would leave the picture."""


@dataclass(frozen=True, slots=True)
class _HistogramScale:
    low: float
    high: float
    """Powers of two."""
    marks: tuple[float, ...]

    def x(self, value: float) -> float:
        part = (math.log2(max(value, 2**self.low)) - self.low) / (self.high - self.low)
        return LEFT + (WIDTH - LEFT - RIGHT) * min(part, 1.0)

    def y(self, share: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share / self.marks[-1]


def draw(title: str, shapes: Sequence[ShownDistribution], shown: Callable[[float], str]) -> Html:
    filled = [shape for shape in shapes if shape.of.count and shape.of.columns]
    if not filled:
        return picture(title, HEIGHT)
    scale = _scale(filled)
    levels = [level(scale.y(mark), f"{100 * mark:.3g}%") for mark in scale.marks]
    bottom = HEIGHT - BOTTOM
    step = max(math.ceil((scale.high - scale.low) / 5), 1)
    powers = range(math.ceil(scale.low), math.floor(scale.high) + 1, step)
    places = [
        tag("text", shown(2.0**power), x=scale.x(2.0**power), y=bottom + 15, text_anchor="middle")
        for power in powers
        if scale.x(2.0**power) <= WIDTH - RIGHT - EDGE
    ]
    axis = tag("path", class_="axis", d=f"M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}")
    return picture(title, HEIGHT, *levels, *places, axis, *(_outline(shape, scale) for shape in filled))


def _scale(shapes: Sequence[ShownDistribution]) -> _HistogramScale:
    columns = [column for shape in shapes for column in shape.of.columns]
    low = math.floor(math.log2(max(min(column[0] for column in columns), 1.0)))
    high = math.ceil(math.log2(max(column[1] for column in columns)))
    most = max(count / shape.of.count for shape in shapes for _, _, count in shape.of.columns)
    return _HistogramScale(float(low), float(max(high, low + 1)), ticks(0.0, most, 4))


def _outline(shape: ShownDistribution, scale: _HistogramScale) -> Html:
    columns = [(left, right, scale.y(count / shape.of.count)) for left, right, count in shape.of.columns]
    before = columns[0][0]
    points = [(scale.x(before), scale.y(0))]
    for left, right, top in columns:
        if left > before * (1 + 1e-9):
            points += [(scale.x(before), scale.y(0)), (scale.x(left), scale.y(0))]
        points += [(scale.x(left), top), (scale.x(right), top)]
        before = right
    points.append((scale.x(before), scale.y(0)))
    paint: dict[str, str | float | None] = {"fill": "currentColor", "fill_opacity": 0.12}
    paint |= {"stroke": "currentColor", "stroke_width": 1.3, "stroke_dasharray": dash(shape.look)}
    line = tag("path", tag("title", shape.name), d=path(points), **paint)
    left, right, top = min(columns, key=lambda column: column[2])
    peak = marker(shape.look, (scale.x(left) + scale.x(right)) / 2, top, 4, title=shape.name)
    return tag("g", line, peak, class_=colour_class(shape.look))
