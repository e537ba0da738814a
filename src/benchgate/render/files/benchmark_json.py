"""benchmark.json in pytest-benchmark's schema, for its `compare` and for github-action-benchmark.

Takes a SessionView; gives JSON. Each arm has one entry per metric: its work window, its total window and
those that the workload declares. `stats` are in seconds: of the host's clock, or of the guest's on the
instruction clock. What is not a time, or is in cycles, has no seconds, so its entries are in
`benchgate.other_units`, not in `benchmarks`. `extra_info.merged` of a percentile is that of all counted runs
together, in the metric's unit. On the instruction clock `extra_info.claimed_by` is `guest` where the machine
did not measure the figure. The names and groups hold the lane, so that `compare` never puts two lanes into
one table. Does not fail.
"""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

from benchgate.base.workload.metrics import WINDOWS
from benchgate.render.figures import ArmFigures, ArmSeries, MetricSamples, series_of
from benchgate.render.view import SessionView

NAME = "benchmark.json"
SECONDS = {"ns": 1e-9, "insn": 1e-9}
"""The length of a unit. The instruction clock advances by 1 ns per instruction."""


def render(view: SessionView) -> str:
    figures = entries(view)
    data = {
        "machine_info": dict(view.machine) | {"isolation": view.isolation},
        "commit_info": {"id": view.commit or "unavailable"},
        "benchmarks": [figure for figure in figures if "stats" in figure],
        "benchgate": {
            "session": view.id,
            "state": view.state,
            "is_verified": view.is_verified,
            "labels": list(view.labels),
            "other_units": [figure for figure in figures if "stats" not in figure],
        },
        "datetime": view.started,
        "version": f"benchgate {view.version}".strip(),
    }
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def entries(view: SessionView) -> list[dict[str, Any]]:
    """One for each metric of a cell whose runs are all verified; without `stats` if it has no seconds."""
    arms = [(series, arm) for series in series_of(view) for arm in series.arms if not arm.is_broken]
    return [_entry(view, series, arm, metric) for series, arm in arms for metric in arm.metrics]


def _entry(view: SessionView, series: ArmSeries, arm: ArmFigures, of: MetricSamples) -> dict[str, Any]:
    metric = of.metric.name
    name = f"{series.name}-{arm.name}-{series.lane}[{metric}]"
    word = "window" if metric in WINDOWS else "metric"
    entry: dict[str, Any] = {
        "group": f"{series.name} {metric} (lane {series.lane}, unit {of.unit or 'none'})",
        "name": name,
        "fullname": f"benchgate::{name}",
        "params": {"cpus": arm.cpus, word: metric, **dict(series.params)},
        "param": metric,
        "extra_info": _extra(view, series, arm, of),
        "options": {"warmup": True, "timer": str(series.lane)},
    }
    second = SECONDS.get(of.unit) if min(of.values) > 0 else None
    return entry | ({"stats": _stats([value * second for value in of.values])} if second else {})


def _extra(view: SessionView, series: ArmSeries, arm: ArmFigures, of: MetricSamples) -> dict[str, object]:
    is_window = of.metric.name in WINDOWS
    seen = arm.speedups.get(of.metric.window) if is_window else None
    host = view.capacity.get(arm.cpus)
    extra: dict[str, object] = {
        "lane": str(series.lane),
        "placement": str(arm.placement),
        "pins": list(arm.pins),
        "unit": of.unit,
        "samples": [int(value) for value in of.values] if is_window else list(of.values),
    }
    if of.is_claimed:
        extra |= {"claimed_by": "guest"}
    if of.merged is not None:
        extra |= {"merged": of.merged}
    if not is_window:
        extra |= {"kind": str(of.metric.kind), "better": str(of.metric.better)}
    if seen:
        extra |= {"base_cpus": seen.base_cpus, "speedup": seen.ratio, "threshold": seen.threshold}
        bounds = (seen.interval.low, seen.interval.high) if seen.has_interval else (None, None)
        extra |= {"low": bounds[0], "high": bounds[1], "verdict": seen.word or None}
    if host and host.lane is series.lane:
        extra |= {"host_capacity": host.ratio}
    return extra


def _stats(data: list[float]) -> dict[str, object]:
    """The fields of pytest-benchmark; quartiles by linear interpolation, fences by Tukey."""
    ordered, mean = sorted(data), statistics.fmean(data)
    deviation = statistics.stdev(data) if len(data) > 1 else 0.0
    q1, _, q3 = statistics.quantiles(data, n=4, method="inclusive") if len(data) > 1 else data * 3
    low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    strays = sum(not low <= number <= high for number in data)
    far = sum(abs(number - mean) > deviation for number in data)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": deviation,
        "rounds": len(data),
        "median": statistics.median(data),
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": strays,
        "stddev_outliers": far,
        "outliers": f"{far};{strays}",
        "ld15iqr": next(number for number in ordered if number >= low),
        "hd15iqr": next(number for number in reversed(ordered) if number <= high),
        "ops": 1 / mean,
        "total": math.fsum(data),
        "data": data,
        "iterations": 1,
    }
