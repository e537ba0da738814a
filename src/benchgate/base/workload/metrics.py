"""Metrics, which a run yields: each has a name, a kind, a unit and a direction.

A workload's YAML declares its metrics; `work` and `total`, the two windows, belong to every workload. The
host computes all of them from what the guest reported and the oracle checked. Takes plain values, gives
frozen objects. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from benchgate.base.cells import Window
from benchgate.base.jsonfields import PlainWord, Presence

NS, SECOND_NS = "ns", 1_000_000_000
"""The unit of a length of time, and how many of it are a second."""
TIME_SIZES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, NS))


def time_size(ns: float) -> tuple[float, str]:
    """The unit in which every report and sentence shows a time, as (ns, name)."""
    return next((one for one in TIME_SIZES if ns >= one[0]), TIME_SIZES[-1])


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


class MetricDirection(StrEnum):
    MORE = "more"
    LESS = "less"


@dataclass(frozen=True, slots=True)
class Metric:
    name: PlainWord
    kind: MetricKind
    better: MetricDirection
    unit: str
    """The unit as it is shown: `ns`, `/s`, `requests/s`, or empty."""
    of: str = ""
    """The operand: a value of the workers (their sum), `result.NAME`, `HISTOGRAM.count` (or sum, min, max),
    or for a percentile the name of a histogram."""
    per: str = ""
    at: float = 0.0
    window: Window = Window.WORK
    about: Annotated[str, Presence.APART] = ""

    @property
    def grows_with_cpus_at_most(self) -> bool:
        """Whether n times the CPUs can improve it n times at most, so that more shows a wrong measurement.
        A declared time can be spent waiting for other workers, and then improves without such a limit."""
        is_rate = self.kind is MetricKind.RATE and not self.per
        return is_rate or (self.kind is MetricKind.TIME and not self.of)


WINDOWS = {
    str(window): Metric(str(window), MetricKind.TIME, MetricDirection.LESS, "", window=window)
    for window in Window
}
"""The metrics of every workload. Their unit is the run's."""


def with_windows(declared: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """All metrics of a workload that declares these."""
    return {**WINDOWS, **declared}
