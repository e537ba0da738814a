"""Computes the metrics that a workload declares, from what one run reported. Pure.

Takes the metrics and what the run reported; gives their values by name, in the units of the metrics, and the
names of those that have none: a percentile of nothing is no figure, and no fault of the run. Fails with
VerifyError that names the metric: the run did not report what it is of, or it would be a division by zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from benchgate.base.cells import Window
from benchgate.base.errors import VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.base.statistics.histogram import Histogram
from benchgate.base.text import suggestion
from benchgate.base.workload.metrics import NS, SECOND_NS, Metric, MetricKind
from benchgate.base.workload.witness import FIGURES

Value = TypeVar("Value")
_RESULT = "result"
_NO_HZ = "it needs a length in ns, but the guest did not say its hz (wire format version 2)"


@dataclass(frozen=True, slots=True)
class MetricSource:
    """What a run reported, as metrics need it."""

    reports: Sequence[WorkerReport]
    result: Mapping[str, int]
    histograms: Mapping[str, Histogram]
    """The histograms of all workers together."""
    hz: int | None
    """How many of the guest's unit are one second; None: the guest did not say."""
    windows_ns: Mapping[Window, float] | None
    """None if they cannot be said in ns, because the guest did not say its hz."""
    measured: Mapping[str, Histogram] = field(default_factory=dict)
    """The histograms that the machine itself measured, in ns: they count in place of the guest's own."""


def without_value(metrics: Mapping[str, Metric], seen: MetricSource) -> dict[str, str]:
    """Names the metrics that take a percentile, a minimum or a maximum of an empty histogram, and says why
    they have no value."""
    empty = [name for name, histogram in seen.histograms.items() if not histogram.count]
    pairs = ((name, of) for name, metric in metrics.items() for of in empty if _is_of(metric, of))
    return {name: f"its histogram `{of}` is empty" for name, of in pairs}


def _is_of(metric: Metric, histogram: str) -> bool:
    """True if the metric needs a value of that histogram."""
    if metric.kind is MetricKind.PERCENTILE:
        return metric.of == histogram
    return not {metric.of, metric.per}.isdisjoint((f"{histogram}.min", f"{histogram}.max"))


def computed(metrics: Mapping[str, Metric], seen: MetricSource) -> dict[str, float]:
    """Gives the value of each metric that has one."""
    absent, result = without_value(metrics, seen), {}
    for name, metric in metrics.items():
        if name in absent or metric.kind is MetricKind.OBSERVED:
            continue  # what is observed comes with the record of threads (checks/thread_record.py)
        try:
            result[name] = _value(metric, seen)
        except ValueError as error:
            raise VerifyError(f"metric {name}: {error}") from None
    return result


def _value(metric: Metric, seen: MetricSource) -> float:
    match metric.kind:
        case MetricKind.TIME:
            length = _length(metric.of, seen) if metric.of else _window(metric.window, seen)
            return _divided(length, _number(metric.per, seen), metric.per) if metric.per else length
        case MetricKind.RATE:
            length = _length(metric.per, seen) if metric.per else _window(metric.window, seen)
            return _divided(
                _number(metric.of, seen), length / SECOND_NS, metric.per or f"the {metric.window} window"
            )
        case MetricKind.PERCENTILE:
            return _percentile(metric, seen)
        case MetricKind.COUNT:
            return float(_number(metric.of, seen))
        case MetricKind.SHARE if metric.per:
            return _divided(_number(metric.of, seen), _number(metric.per, seen), metric.per)
        case MetricKind.OBSERVED:
            raise ValueError("only a record of the guest's threads has it")
        case MetricKind.SHARE:
            each = _of_workers(metric.of, seen)
            return _divided(min(each), max(each), f"the largest {metric.of}")


def _percentile(metric: Metric, seen: MetricSource) -> float:
    if metric.of in seen.measured and metric.unit == NS:
        return seen.measured[metric.of].percentile(metric.at)
    value = _known(metric.of, seen.histograms, "histogram").percentile(metric.at)
    return _ns(value, seen) if metric.unit == NS else value


def _length(of: str, seen: MetricSource) -> float:
    """In ns, of the machine if it measured that."""
    place, _, name = of.rpartition(".")
    if place in seen.measured and name in FIGURES:
        return float(getattr(seen.measured[place], name))
    return _ns(_number(of, seen), seen)


def _number(of: str, seen: MetricSource) -> int:
    """`VALUE` of all workers together, `result.VALUE` or `HISTOGRAM.FIGURE`."""
    place, dot, name = of.rpartition(".")
    if not dot:
        return sum(_of_workers(of, seen))
    if place == _RESULT:
        return _known(name, seen.result, "result")
    histogram = _known(place, seen.histograms, "histogram")
    if name not in FIGURES:
        raise ValueError(f"a histogram has no `{name}`; it has {', '.join(FIGURES)}")
    value: int = getattr(histogram, name)
    return value


def _of_workers(name: str, seen: MetricSource) -> list[int]:
    return [_known(name, report.values, f"value of worker {report.id}") for report in seen.reports]


def _known(name: str, known: Mapping[str, Value], what: str) -> Value:
    if name not in known:
        there = f"there are {', '.join(known)}" if known else "there is none"
        raise ValueError(f"the guest reported no {what} `{name}`; {suggestion(name, known, there)}")
    return known[name]


def _window(window: Window, seen: MetricSource) -> float:
    if seen.windows_ns is None:
        raise ValueError(_NO_HZ)
    return seen.windows_ns[window]


def _ns(length: float, seen: MetricSource) -> float:
    if seen.hz is None:
        raise ValueError(_NO_HZ)
    return length * SECOND_NS / seen.hz


def _divided(number: float, by: float, what: str) -> float:
    if not by:
        raise ValueError(f"{what} is 0")
    return number / by
