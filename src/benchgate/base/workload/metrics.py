"""Metrics, which a run yields: each has a name, a kind, a unit and a direction.

A workload's YAML declares its metrics; `work` and `total`, the two windows, belong to every workload. The
host computes all of them from what the guest reported and the oracle checked. Takes plain values, gives
frozen objects. Nothing fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from benchgate.base.cells import Window
from benchgate.base.jsonfields import PlainWord, Presence

NS, SECOND_NS = "ns", 1_000_000_000
"""The unit of a length of time, and how many of it are a second."""
SHARE = "share"
"""The unit of a part of a whole, from 0 to 1; people are shown percent."""
TIME_SIZES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, NS))


_LENGTH = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?) ?(ns|us|ms|s)")


def time_of(word: str) -> float:
    """The ns of a length of time such as `1ms`; ValueError for another word."""
    match = _LENGTH.fullmatch(word)
    if not match:
        raise ValueError(f"{word!r:.60} is not a length of time such as `1ms` or `250us`")
    return float(match[1]) * next(size for size, name in TIME_SIZES if name == match[2])


def time_size(ns: float) -> tuple[float, str]:
    """The unit in which every report and sentence shows a time, as (ns, name)."""
    return next((size for size in TIME_SIZES if ns >= size[0]), TIME_SIZES[-1])


WHOLE = 1000
"""Figures from here on are shown without decimals, if these do not matter."""


def number(value: float) -> str:
    """A threshold with as few digits as possible, and without an exponent."""
    return f"{value:.0f}" if value >= WHOLE and float(value).is_integer() else f"{value:.6g}"


def in_unit(value: float, unit: str, digits: Callable[[float], str]) -> str:
    """A figure as sentences say it: `1.9`, `20 ms`, `5%`."""
    if unit == SHARE:
        return f"{digits(100 * value)}%"
    if unit == NS:
        size, name = time_size(value)
        return f"{digits(value / size)} {name}"
    return f"{digits(value)} {unit}".rstrip()


def time_text(ns: float) -> str:
    return in_unit(ns, NS, "{:.4g}".format)


def threshold_text(value: float, unit: str) -> str:
    """A threshold in the unit of its figure, as plans, gates and errors say it."""
    return in_unit(value, unit, number)


class MetricKind(StrEnum):
    TIME = "time"
    """A length in ns: `of`, which is in the guest's unit, or the window. If `per` is given, the length is per
    unit of it."""
    RATE = "rate"
    """`of` per second of the window, or of `per`, a length in the guest's unit."""
    PERCENTILE = "percentile"
    """The value of the histogram `of` that `at` percent of its values do not exceed: in ns, or the number as
    it is if the metric has another unit."""
    COUNT = "count"
    SHARE = "share"
    """`of` divided by `per`; without `per`, the smallest worker's `of` divided by the largest worker's."""
    OBSERVED = "observed"
    """What the guest's scheduler did, as a feature's check finds it in the record of threads
    (hooks.RunCheck)."""


class SeenBy(StrEnum):
    """Who says what a metric is."""

    MACHINE = "machine"
    """The instruction clock measured it, or counted exactly what the guest says."""
    BOTH = "both"
    """The guest says it, within what a promise that the machine saw kept allows."""
    GUEST = "guest"


class MetricDirection(StrEnum):
    MORE = "more"
    LESS = "less"


@dataclass(frozen=True, slots=True)
class Metric:
    name: PlainWord
    kind: MetricKind
    better: MetricDirection
    unit: str
    """The unit as it is shown: `ns`, `/s`, `requests/s`, or empty; of `share` percent are shown."""
    of: str = ""
    """The operand: a value of the workers (their sum), `result.NAME`, `HISTOGRAM.count` (or sum, min, max),
    or for a percentile the name of a histogram."""
    per: str = ""
    at: float = 0.0
    window: Window = Window.WORK
    about: Annotated[str, Presence.APART] = ""

    @property
    def is_window(self) -> bool:
        """Whether it is the length of a window, and nothing that the workload reports."""
        return self.kind is MetricKind.TIME and not self.of

    @property
    def grows_with_cpus_at_most(self) -> bool:
        """Whether n times the CPUs can improve it n times at most, so that more shows a wrong measurement.
        A declared time can be spent waiting for other workers, and then improves without such a limit."""
        return self.is_window or (self.kind is MetricKind.RATE and not self.per)


WINDOWS = {
    str(window): Metric(str(window), MetricKind.TIME, MetricDirection.LESS, "", window=window)
    for window in Window
}
"""The metrics of every workload. Their unit is the run's."""

WASTED, WASTED_LONGEST, SETTLING, SCHED_WAIT = "wasted", "wasted_longest", "settling", "sched_wait"
HELD = "held"
"""`sched_wait` is also the name of a run's histogram of waits, which is in ns whatever the guest counts."""
MOST_SETTLING = 10_000
"""In ns, so in instructions on the ideal machine: no thread settles for longer, and what exceeds it is
wasted."""
OF_THREADS = {
    one.name: one
    for one in (
        Metric(
            WASTED,
            MetricKind.SHARE,
            MetricDirection.LESS,
            SHARE,
            of="idle",
            per="cpus",
            about="the share of all CPUs' time that was idle although a thread waited that may run there",
        ),
        Metric(
            WASTED_LONGEST,
            MetricKind.TIME,
            MetricDirection.LESS,
            NS,
            of=WASTED,
            about="the longest time for which one CPU was idle although a thread waited that may run there",
        ),
        Metric(
            SETTLING,
            MetricKind.TIME,
            MetricDirection.LESS,
            NS,
            of=WASTED,
            about="how long woken threads took on average to come to their idle CPU, up to 10 us each time: "
            "idle time that is not in `wasted`",
        ),
        Metric(
            HELD,
            MetricKind.SHARE,
            MetricDirection.LESS,
            SHARE,
            of="kernel",
            per="cpus",
            about="the share of all CPUs' time, during the work, that their kernel spun, or took for long, "
            "although a thread waited that may run there",
        ),
        Metric(
            f"{SCHED_WAIT}_p99",
            MetricKind.PERCENTILE,
            MetricDirection.LESS,
            NS,
            of=SCHED_WAIT,
            at=99,
            about="99% of the times for which a thread waited for a CPU are not longer",
        ),
        Metric(
            f"{SCHED_WAIT}_max",
            MetricKind.PERCENTILE,
            MetricDirection.LESS,
            NS,
            of=SCHED_WAIT,
            at=100,
            about="the longest time for which a thread waited for a CPU",
        ),
    )
}
"""The metrics of every run on the instruction clock whose threads were observed (threads.txt), whatever its
workload declares."""


def observed(declared: Mapping[str, Metric]) -> tuple[str, ...]:
    """The names of all metrics that only a record of threads has, for a workload that declares these."""
    return *OF_THREADS, *(name for name, metric in declared.items() if metric.kind is MetricKind.OBSERVED)


def is_length(what: str, metrics: Mapping[str, Metric]) -> bool:
    """Whether a metric takes this reported value, or the histogram that it is a figure of, for a length of
    time."""
    return any(
        what == of or _histogram(what) == _histogram(of) != "" for of in map(_length_of, metrics.values())
    )


def _length_of(metric: Metric) -> str:
    """What the metric takes for a length of time; for a histogram one of its figures."""
    if metric.kind is MetricKind.PERCENTILE:
        return f"{metric.of}.max" if metric.unit == NS else ""
    return {MetricKind.TIME: metric.of, MetricKind.RATE: metric.per}.get(metric.kind, "")


def _histogram(what: str) -> str:
    place = what.rpartition(".")[0]
    return "" if place == "result" else place


def every_metric(declared: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """All metrics that a gate may name for a workload that declares these."""
    return {**WINDOWS, **OF_THREADS, **declared}


def with_windows(declared: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """All metrics of a workload that declares these."""
    return {**WINDOWS, **declared}
