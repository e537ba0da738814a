"""The figures of one ratio: how many times better a metric is in one measurement than in another.

Takes a gate and two measurements of one lane, each with the runs to use; gives GateFigures. Guests that count
ns and guests that count cycles are compared in ns (in_one_unit). A time is better if it is shorter, a rate if
it is higher (Metric.better). Does not fail: of a metric that is 0 in a run the figures say that there is no
ratio.
"""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.gates import Gate, Word
from benchgate.base.runs import Measurement
from benchgate.base.statistics.stats import Interval, ratio_interval, ratio_of_medians
from benchgate.base.workload.metrics import NS, SECOND_NS, MetricDirection
from benchgate.judge.gates import effect
from benchgate.judge.gates.figures import RATIO, GateFigures, dependence
from benchgate.judge.gates.wording import printed_step, reason, subject


def first(one: Measurement, look: int) -> Measurement:
    """Keeps the first `look` runs."""
    return replace(one, samples=one.samples[:look], blur=one.blur[:look], hz=one.hz[:look])


def in_one_unit(one: Measurement, other: Measurement) -> tuple[Measurement, Measurement]:
    """Converts both to ns if one guest counts ns and the other cycles, and if their frequency is known."""
    if one.unit == other.unit or not one.hz or not other.hz:
        return one, other
    return _in_ns(one), _in_ns(other)


def _in_ns(one: Measurement) -> Measurement:
    samples = tuple(value * SECOND_NS / hz for value, hz in zip(one.samples, one.hz, strict=True))
    return replace(one, unit=NS, samples=samples, step=one.step * SECOND_NS / min(one.hz), hz=())


def figures(  # noqa: PLR0913 - keyword arguments
    gate: Gate, base: Measurement, other: Measurement, *, alpha: float, limit: float, look: int
) -> GateFigures:
    """The ratio is above 1 if `other` is better than `base`."""
    top, bottom = (base, other) if base.metric.better is MetricDirection.LESS else (other, base)
    tops, bottoms = top.samples, bottom.samples
    if min(*tops, *bottoms) <= 0:
        return _without(gate, other.lane, limit, look)
    interval = ratio_interval(tops, bottoms, alpha, (top.step, bottom.step))
    blur = sum(max(one.blur, default=0.0) for one in (base, other))
    return GateFigures(
        lane=other.lane,
        threshold=limit,
        runs=look,
        value=ratio_of_medians(tops, bottoms),
        interval=interval,
        unit=RATIO,
        dependence=dependence(other.lane, tops, bottoms),
        blur=blur,
        effect=effect.of_ratio(tops, bottoms, interval, blur),
        step=printed_step(max(top.step, bottom.step), (*tops, *bottoms), other.unit),
    )


def _without(gate: Gate, lane: Lane, limit: float, look: int) -> GateFigures:
    text = f"{subject(gate)}: {gate.metric} is 0 in a run, so there is no ratio"
    found = Word.INCONCLUSIVE, reason(Word.INCONCLUSIVE, text, "use a `limit`")
    nothing = float("inf")
    return GateFigures(lane, limit, look, nothing, Interval(-nothing, nothing), RATIO, unusable=found)
