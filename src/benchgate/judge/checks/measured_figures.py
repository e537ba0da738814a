"""Compares a histogram that the guest printed with what the machine itself measured, value by value. Pure.

Takes the guest's histogram, the length of its unit, and what the machine measured of the same threads; gives
what contradicts, with both sides and their numbers, or an empty text.

One rule holds for every histogram. Each value of an honest guest lies between two lengths that the machine
has: `inner`, from call to call, and `outer`, from one reading of the guest's clock to another one. Then the
same holds of the k-th smallest values, whichever belongs to which, and so of the minimum, of the maximum and
of each percentile, in both directions; and of the sums. Where the machine lacks spans for some values, as
many ranks are left free. So samples that were moved from bucket to bucket, halved, capped or invented
contradict, although count, sum and maximum are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchgate.base.statistics.histogram import Histogram, bounds

Ranks = Sequence[tuple[Fraction, Fraction, int]]
"""From the smallest value on: how long at least, how long at most, and how many values."""


@dataclass(frozen=True, slots=True)
class Slack:
    """By how much an honest guest may differ from what the machine measured."""

    below_ns: int = 0
    above_ns: int = 0
    drift: Fraction = Fraction(0)
    """By which share of a length, too: the guest's clock goes faster or slower than the machine's."""

    def least(self, length: Fraction) -> Fraction:
        return length * (1 - self.drift) - self.below_ns

    def most(self, length: Fraction) -> Fraction:
        return length * (1 + self.drift) + self.above_ns


@dataclass(frozen=True, slots=True)
class MeasuredSpans:
    """What the machine measured, in ns."""

    inner: Histogram
    outer: Histogram
    may_lack: bool = False
    """Whether the guest may have more values: it also counts a wait that found its word set, and so was woken
    by nobody."""


def contradiction(said: Histogram, tick: Fraction, spans: MeasuredSpans, slack: Slack) -> str:
    """`said` is in units of `tick` ns."""
    seen = spans.inner
    unseen = said.count - seen.count
    if unseen < 0 or (unseen and not spans.may_lack):
        return f"{said.count:,} values, but the machine measured {seen.count:,}"
    mine, inner, outer = _ranks(said, tick), _ranks(spans.inner), _ranks(spans.outer)
    for rank, (_, most, _), (least, _, _) in _pairs(mine, inner, unseen):
        if most < slack.least(least):
            return (
                f"value {rank:,} of {said.count:,} is at most {_shown(most)} ns, but the machine measured at "
                f"least {_shown(least)} ns"
            )
    for rank, (_, most, _), (least, _, _) in _pairs(outer, mine, 0):
        if least > slack.most(most):
            return (
                f"value {rank:,} of {said.count:,} is at least {_shown(least)} ns, but the machine "
                f"measured at most {_shown(most)} ns"
            )
    return _of_sums(said, tick, spans, slack) if said.count == seen.count else ""


def _of_sums(said: Histogram, tick: Fraction, spans: MeasuredSpans, slack: Slack) -> str:
    count, mine = said.count, said.sum * tick
    least = spans.inner.sum * (1 - slack.drift) - count * (slack.below_ns + tick)
    most = spans.outer.sum * (1 + slack.drift) + count * (slack.above_ns + tick)
    if least <= mine <= most:
        return ""
    return (
        f"the values are {_shown(mine)} ns together, but the machine measured {spans.inner.sum:,} ns between "
        f"calls, and {spans.outer.sum:,} ns with all around them"
    )


def _ranks(histogram: Histogram, tick: Fraction | None = None) -> Ranks:
    """The guest's values are differences of two readings: each may be off by nearly a tick."""
    length, off = (Fraction(1), Fraction(0)) if tick is None else (tick, tick)
    result = []
    for bucket, count in histogram.buckets.items():
        low, high = (min(max(end, histogram.min), histogram.max) for end in bounds(bucket))
        result.append((low * length - off, high * length + off, count))
    if result:
        result = _with_end(result, (histogram.min * length - off, histogram.min * length + off), 0)
        result = _with_end(result, (histogram.max * length - off, histogram.max * length + off), -1)
    return result


def _with_end(
    ranks: list[tuple[Fraction, Fraction, int]], exact: tuple[Fraction, Fraction], at: int
) -> list[tuple[Fraction, Fraction, int]]:
    """The smallest and the largest value are known exactly."""
    low, high, count = ranks[at]
    rest = [(low, high, count - 1)] if count > 1 else []
    return [(*exact, 1), *rest, *ranks[1:]] if at == 0 else [*ranks[:-1], *rest, (*exact, 1)]


def _pairs(
    one: Ranks, other: Ranks, ahead: int
) -> Iterator[tuple[int, tuple[Fraction, Fraction, int], tuple[Fraction, Fraction, int]]]:
    """Each two parts of which rank k of the first and rank k - `ahead` of the second are, and the last such
    k."""
    ends = _ends(one, 0), _ends(other, ahead)
    at, first, second = max(0, ahead), 0, 0
    while first < len(one) and second < len(other):
        last = min(ends[0][first], ends[1][second])
        if last > at:
            yield last, one[first], other[second]
            at = last
        first, second = first + (ends[0][first] <= last), second + (ends[1][second] <= last)


def _ends(ranks: Ranks, start: int) -> list[int]:
    result = []
    for _, _, count in ranks:
        start += count
        result.append(start)
    return result


def _shown(value: Fraction) -> str:
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,.2f}"
