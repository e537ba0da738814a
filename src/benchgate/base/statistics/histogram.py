"""Histograms as guests make them (guest/bench.h): log-linear, 128 buckets for each power of two.

Takes counts by bucket number; gives a frozen `Histogram`, and percentiles that are at most 1/256 off, of one
or of several with units of their own. Fails with ValueError for the percentile of an empty histogram, and for
a percentage that is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from types import MappingProxyType
from typing import Annotated

from benchgate.base.jsonfields import Between

PARTS = 128
"""The number of buckets for each power of two. Each smaller value has its own bucket."""
BUCKETS = 58 * PARTS
"""Enough for any number below 2^64."""
_Word = Annotated[int, Between(0, 2**64 - 1)]


def bucket_of(value: int) -> int:
    if value < PARTS:
        return value
    power = value.bit_length() - 1
    return (power - 6) * PARTS + ((value >> (power - 7)) & (PARTS - 1))


def bounds(bucket: int) -> tuple[int, int]:
    """The smallest and the largest value of a bucket."""
    if bucket < PARTS:
        return bucket, bucket
    shift = bucket // PARTS - 1
    low = (PARTS + bucket % PARTS) << shift
    return low, low + (1 << shift) - 1


@dataclass(frozen=True, slots=True)
class Histogram:
    count: _Word
    sum: _Word
    min: _Word
    max: _Word
    """`min` and `max` are 0 if the histogram is empty."""
    buckets: Mapping[int, _Word]
    """How many values each bucket has, in ascending order of the bucket; no bucket is empty."""

    @property
    def mean(self) -> float:
        """The mean of the values; ValueError if there are none."""
        if not self.count:
            raise ValueError("the histogram is empty")
        return self.sum / self.count

    def percentile(self, at: float) -> float:
        """The smallest value that `at` percent of the values do not exceed, as the middle of its bucket. The
        minimum and the maximum are exact. ValueError if the histogram is empty."""
        return percentile_of([(self, 1.0)], at)

    def middles(self) -> list[tuple[float, int]]:
        """The value that stands for each bucket, ascending, and how many values the bucket has."""
        return [
            (min(max(sum(bounds(value)) / 2, self.min), self.max), n) for value, n in self.buckets.items()
        ]


def percentile_of(parts: Iterable[tuple[Histogram, float]], at: float) -> float:
    """The percentile of all values of several histograms, each with the length of its unit: a guest that
    calibrates its clock has another one in each run."""
    if not 0 <= at <= 100:
        raise ValueError(f"{at:g} is not a percentage")
    filled = [(histogram, unit) for histogram, unit in parts if histogram.count]
    if not filled:
        raise ValueError("the histogram is empty")
    count = sum(histogram.count for histogram, _ in filled)
    rank = max(1, math.ceil(Fraction(repr(float(at))) * count / 100))
    if rank == 1:
        return min(histogram.min * unit for histogram, unit in filled)
    if rank == count:
        return max(histogram.max * unit for histogram, unit in filled)
    values = sorted((middle * unit, n) for histogram, unit in filled for middle, n in histogram.middles())
    reached = accumulate(n for _, n in values)
    return next(value for (value, _), below in zip(values, reached, strict=True) if below >= rank)


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """One histogram of all values, of several workers of a run."""
    filled = [histogram for histogram in histograms if histogram.count]
    buckets: Counter[int] = Counter()
    for one in filled:
        buckets.update(one.buckets)
    return Histogram(
        count=sum(histogram.count for histogram in filled),
        sum=sum(histogram.sum for histogram in filled),
        min=min((histogram.min for histogram in filled), default=0),
        max=max((histogram.max for histogram in filled), default=0),
        buckets=MappingProxyType(dict(sorted(buckets.items()))),
    )
