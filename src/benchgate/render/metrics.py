"""The metrics of a row as figures: each arm's median, its spread, the percentile of all runs together, how
many times better it is than the first arm, and the verdicts on them.

Takes a SessionView and a series; gives frozen figures. A window is among them only if a gate has a threshold
for it that the table of speedups does not show. Does not fail.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchgate.base.gates import SMALLEST_LOOK, Verdict
from benchgate.base.statistics import stats
from benchgate.base.statistics.stats import Interval, Spread
from benchgate.base.system.machines import unit_on
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricDirection
from benchgate.plan.mark_table import OWN_FIGURE
from benchgate.render.figures import ArmFigures, ArmSeries, MetricSamples, comparable
from benchgate.render.view import SessionView


@dataclass(frozen=True, slots=True)
class MetricFigures:
    """One metric of one arm."""

    metric: Metric
    unit: str
    arm: ArmFigures
    spread: Spread
    """The spread of the runs."""
    merged: float | None
    """A percentile of all counted runs together."""
    factor: float | None
    """How many times better than in the first arm; None for that arm, and if the two cannot be compared."""
    interval: Interval | None
    verdicts: tuple[Verdict, ...]
    is_claimed: bool = False
    """Whether the guest says it, and the machine did not measure it."""


def metrics_of(view: SessionView, series: ArmSeries) -> tuple[MetricFigures, ...]:
    """The order is by metric, then by arm. A window is among them if a gate limits or compares it."""
    result = [
        (arm, samples, _verdicts(view, series, arm, samples.metric.name))
        for arm in series.arms
        if not arm.is_broken
        for samples in arm.metrics
    ]
    names = list(dict.fromkeys(samples.metric.name for _, samples, _ in result))
    asked = {samples.metric.name for _, samples, verdicts in result if verdicts}
    shown = [name for name in names if name not in WINDOWS or name in asked]
    return tuple(
        _figures(view, series, *one) for name in shown for one in result if one[1].metric.name == name
    )


def _figures(
    view: SessionView,
    series: ArmSeries,
    arm: ArmFigures,
    samples: MetricSamples,
    verdicts: tuple[Verdict, ...],
) -> MetricFigures:
    factor, interval = _factor(view, series.arms[0], arm, samples)
    spread, unit = stats.spread(samples.values), unit_on(series.system, samples.unit)
    return MetricFigures(
        samples.metric, unit, arm, spread, samples.merged, factor, interval, verdicts, samples.is_claimed
    )


def _factor(
    view: SessionView, base: ArmFigures, arm: ArmFigures, samples: MetricSamples
) -> tuple[float | None, Interval | None]:
    first = next((metric for metric in base.metrics if metric.metric == samples.metric), None)
    if not comparable(base, arm) or first is None or min(*first.values, *samples.values) <= 0:
        return None, None
    top, bottom = (samples, first) if samples.metric.better is MetricDirection.MORE else (first, samples)
    few = min(len(top.values), len(bottom.values)) < SMALLEST_LOOK
    steps = top.step, bottom.step
    interval = None if few else stats.ratio_interval(top.values, bottom.values, view.alpha, steps)
    return stats.ratio_of_medians(top.values, bottom.values), interval


def _verdicts(view: SessionView, series: ArmSeries, arm: ArmFigures, name: str) -> tuple[Verdict, ...]:
    """Gives the verdicts with a threshold on this metric, except those in the table of speedups."""
    if arm.is_variant:
        return ()
    key = (series.system, series.workload, series.params, series.mode, arm.cpus, name)
    return tuple(
        verdict
        for verdict in view.shown_verdicts
        if (verdict.system, verdict.workload, verdict.params, verdict.mode, verdict.cpus, verdict.metric)
        == key
        and verdict.lane in (series.lane, None)
        and verdict.threshold is not None
        and verdict.gate not in OWN_FIGURE
        and (name not in WINDOWS or verdict.base_cpus is None or verdict.base_system is not None)
    )
