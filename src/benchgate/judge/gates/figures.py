"""One look of a gate: the figure of a median or of a ratio, its interval, and what is known of their quality.

Takes a gate and samples, or two measurements of one lane, each with the runs to use; gives GateFigures. In a
ratio, guests that count ns and guests that count cycles are compared in ns (in_one_unit). A time is better if
it is shorter, a rate if it is higher (Metric.better). Nothing fails: of a metric that is 0 in a run the
figures say that there is no ratio.

The smallest effect says how far from its threshold the truth must be for the gate to see it, as a share of
the threshold; None if the interval has no end, or the figure is not above zero. A gate decides if the whole
interval is beyond the threshold. The truth must therefore be away from it by the length of the interval's
arm, and by as much again as the figure itself errs on the wrong side in one of five sessions (POWER). Both
come from the noise of these runs. The larger of both directions counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchgate.base.cells import Lane
from benchgate.base.gates import Gate, Policy, Word
from benchgate.base.runs import Measurement
from benchgate.base.statistics.stats import (
    Interval,
    bootstrap,
    median,
    median_interval,
    median_quantiles,
    ratio_interval,
    ratio_of_medians,
    serial_dependence,
)
from benchgate.base.workload.metrics import NS, SECOND_NS, MetricDirection
from benchgate.judge.gates.wording import printed_step, reason, subject

POWER = 0.8
"""An effect of this size is found in at least this share of sessions."""
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
    """The smallest distance of the true value from the threshold that such runs show, as a share
    of the threshold; None: not known."""

    groups: str = ""
    """How the runs of the arms fall into groups; empty if they do not."""
    difference: str = ""
    """The command that shows how two runs of different groups differ."""
    spanned: Interval | None = None
    """From the smallest to the largest value that the medians of groups have; None if no groups decide."""
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
        low, high, value = map(_finite, (self.interval.low, self.interval.high, self.value))
        name = "ratio" if self.is_ratio else "value"
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
    looks = tuple(look for look in policy.session_looks if look <= len(samples))
    found = median_interval(samples, looks, policy.overall_error)
    interval = Interval(found.low - off, found.high + off)
    errors = median_quantiles(samples, 1 - POWER, POWER)
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
        effect=_relative(median(samples), interval, errors, blur),
    )


def first_runs(of: Measurement, look: int) -> Measurement:
    """Keeps the first `look` runs."""
    samples, runs = of.samples[:look], of.runs[:look]
    return replace(of, samples=samples, blur=of.blur[:look], hz=of.hz[:look], runs=runs)


def in_one_unit(measurement: Measurement, other: Measurement) -> tuple[Measurement, Measurement]:
    """Converts both to ns if one guest counts ns and the other cycles, and if their frequency is known."""
    if measurement.unit == other.unit or not measurement.hz or not other.hz:
        return measurement, other
    return _in_ns(measurement), _in_ns(other)


def in_time(of: Measurement) -> Measurement | None:
    """The same in ns, of which an instruction takes one; None if its guest counts cycles and does not say how
    many are a second."""
    if of.unit in (NS, Lane.INSN.value):
        return replace(of, unit=NS)
    return _in_ns(of) if of.hz else None


def _in_ns(of: Measurement) -> Measurement:
    samples = tuple(value * SECOND_NS / hz for value, hz in zip(of.samples, of.hz, strict=True))
    return replace(of, unit=NS, samples=samples, step=of.step * SECOND_NS / min(of.hz), hz=())


def of_ratio(  # noqa: PLR0913 - keyword arguments
    gate: Gate, base: Measurement, other: Measurement, *, alpha: float, limit: float, look: int
) -> GateFigures:
    """The ratio is above 1 if `other` is better than `base`."""
    top, bottom = (base, other) if base.metric.better is MetricDirection.LESS else (other, base)
    tops, bottoms = top.samples, bottom.samples
    if min(*tops, *bottoms) <= 0:
        return _without(gate, other.lane, limit, look)
    interval = ratio_interval(tops, bottoms, alpha, (top.step, bottom.step))
    blur = sum(max(measurement.blur, default=0.0) for measurement in (base, other))
    return GateFigures(
        lane=other.lane,
        threshold=limit,
        runs=look,
        value=ratio_of_medians(tops, bottoms),
        interval=interval,
        unit=RATIO,
        dependence=dependence(other.lane, tops, bottoms),
        blur=blur,
        effect=effect_of_ratio(tops, bottoms, interval, blur),
        step=printed_step(max(top.step, bottom.step), (*tops, *bottoms), other.unit),
    )


def _without(gate: Gate, lane: Lane, limit: float, look: int) -> GateFigures:
    text = f"{subject(gate)}: {gate.metric} is 0 in a run, so there is no ratio"
    return unusable(lane, limit, look, Word.INCONCLUSIVE, reason(Word.INCONCLUSIVE, text, "use a `limit`"))


def unusable(lane: Lane, limit: float, look: int, word: Word, text: str) -> GateFigures:
    nothing = float("inf")
    return GateFigures(lane, limit, look, nothing, Interval(-nothing, nothing), RATIO, unusable=(word, text))


def effect_of_ratio(
    tops: Sequence[float], bottoms: Sequence[float], interval: Interval, blur: float
) -> float | None:
    """Takes the ratio of two arms' medians. `blur` is the share by which it may be off (Measurement.blur)."""
    drawn = bootstrap(tops, bottoms)
    errors = Interval(drawn.quantile(1 - POWER), drawn.quantile(POWER))
    return _relative(ratio_of_medians(tops, bottoms), interval, errors, blur)


def effect_of_value(value: float, interval: Interval, errors: Interval, threshold: float) -> float | None:
    """Takes a figure whose noise does not grow with it, such as a parameter of a law."""
    reach = max(value - interval.low + value - errors.low, interval.high - value + errors.high - value)
    return _finite(reach / threshold) if threshold > 0 else None


def _relative(value: float, interval: Interval, errors: Interval, blur: float) -> float | None:
    """Noise of times and rates grows with them, so it is the same share of any truth."""
    if min(interval.low, errors.low, value) <= 0:
        return None
    up, down = value / interval.low * value / errors.low, interval.high / value * errors.high / value
    return _finite(max(up, down) * (1 + blur) - 1)


def _finite(share: float) -> float | None:
    return share if math.isfinite(share) else None
