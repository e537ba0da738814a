"""One look of a gate: the figure, its interval, and what is known of their quality.

Takes samples and plain values, gives a frozen object. Nothing fails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.base.cells import Lane
from benchgate.base.gates import Policy, Word
from benchgate.base.statistics.stats import Interval, median, median_interval, serial_dependence
from benchgate.judge.gates import effect

RATIO = "x"
"""The unit of a ratio."""
DEPENDENT = 1.96
"""Above this `serial_dependence` the runs of the arms are not taken for independent. Independent runs exceed
it in 2 to 3% of looks, and then wait for the next look."""


@dataclass(frozen=True, slots=True)
class GateFigures:
    lane: Lane
    threshold: float
    runs: int
    """The runs of each arm."""
    value: float
    interval: Interval
    unit: str
    dependence: float = 0.0
    """How much neighbouring runs resemble each other."""
    blur: float = 0.0
    """The share by which the value may be off (Measurement.blur)."""
    step: str = ""
    """The steps in which the guest prints its figures, if they show in the interval."""
    beside: str = ""
    """What else the figures rest on, besides this session's runs."""
    unusable: tuple[Word, str] | None = None
    """The verdict if the figures contradict each other or have no ratio."""
    name: str = ""
    """What the value is, if it is neither the metric itself nor a ratio of it: `efficiency`."""
    misfit: str = ""
    """Why a fitted law does not describe the arms; then its parameters decide nothing."""
    effect: float | None = None
    """The smallest distance of the true value from the threshold that such runs show (effect.py), as a share
    of the threshold; None: not known."""

    of_host: float | None = None
    """The same figure of the host's own capacity, which the guest reaches; None: not known."""

    @property
    def is_ratio(self) -> bool:
        return self.unit == RATIO

    @property
    def is_dependent(self) -> bool:
        """The runs drift, so the interval, which assumes independent runs, is too narrow."""
        return self.dependence > DEPENDENT

    @property
    def blurred(self) -> Interval:
        return Interval(self.interval.low / (1 + self.blur), self.interval.high * (1 + self.blur))

    @property
    def fields(self) -> dict[str, object]:
        """The fields of a verdict. JSON has no infinity."""
        low, high = (one if math.isfinite(one) else None for one in (self.interval.low, self.interval.high))
        name = "ratio" if self.is_ratio else "value"
        value = self.value if math.isfinite(self.value) else None
        head = {"lane": self.lane, "threshold": self.threshold, "runs": self.runs, "unit": self.unit}
        known = {"parameter": self.name or None, "smallest_effect": self.effect}
        return {**head, name: value, "low": low, "high": high, **known}


def dependence(lane: Lane, *samples: Sequence[float]) -> float:
    """The samples of the instruction clock are seeds, which share no noise."""
    return 0.0 if lane is Lane.INSN else serial_dependence(*samples)


def of_median(  # noqa: PLR0913 - keyword arguments
    samples: Sequence[float], policy: Policy, lane: Lane, limit: float, *, off: float, blur: float, step: str
) -> GateFigures:
    """The median of these samples, each of which may be off by so much."""
    looks = tuple(one for one in policy.session_looks if one <= len(samples))
    found = median_interval(samples, looks, policy.overall_error)
    interval = Interval(found.low - off, found.high + off)
    return GateFigures(
        lane=lane,
        threshold=limit,
        runs=len(samples),
        value=median(samples),
        interval=interval,
        unit="",
        dependence=dependence(lane, samples),
        blur=blur,
        step=step,
        effect=effect.of_median(samples, interval, blur),
    )
