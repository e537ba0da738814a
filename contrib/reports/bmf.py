"""bmf.json: every trusted figure in Bencher's Metric Format, for `bencher run --adapter json --file`.

Takes a SessionView; gives JSON, or None without a trusted figure, so that absence is no empty success. A
benchmark is an arm on its lane; a measure is a metric with its unit (the median of the runs, with the
smallest and the largest) or a speedup (with its interval). The format has no place for verdicts. Does not
fail.
"""

from __future__ import annotations

import json
from statistics import median

from benchgate import ArmFigures, SessionView, Word, series_of, visible

NAME = "bmf.json"
LONGEST_BENCHMARK, LONGEST_MEASURE = 1024, 64
"""Bencher's limits for the characters of a name."""
Measures = dict[str, dict[str, float]]


def render(view: SessionView) -> str | None:
    result: dict[str, Measures] = {}
    for series in series_of(view):
        for arm in series.arms:
            if view.is_verified and not arm.is_broken and arm.samples:
                name = f"{series.name} {arm.name} ({series.lane}, {arm.placement})"
                result[visible(name)[:LONGEST_BENCHMARK]] = _measures(arm)
    return json.dumps(result, indent=2, allow_nan=False) + "\n" if result else None


def _measures(arm: ArmFigures) -> Measures:
    measures: Measures = {}
    for metric in arm.metrics:
        name = f"{metric.metric.name} ({metric.unit})" if metric.unit else metric.metric.name
        measures[visible(name)[:LONGEST_MEASURE]] = {
            "value": float(median(metric.values)),
            "lower_value": min(metric.values),
            "upper_value": max(metric.values),
        }
    for window, seen in arm.speedups.items():
        if seen.word != Word.INVALID:
            bounds = {"lower_value": seen.interval.low, "upper_value": seen.interval.high}
            measures[f"speedup of {window}"] = {"value": seen.ratio, **(bounds if seen.has_interval else {})}
    return measures
