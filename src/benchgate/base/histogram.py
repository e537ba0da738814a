"""Histograms as guests make them (guest/bench.h): log-linear, 128 buckets for each power of two.

Takes counts by bucket number; gives a frozen `Histogram`, and percentiles that are at most 1/256 off. Fails
with ValueError for the percentile of an empty histogram, and for a percentage that is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from types import MappingProxyType

PARTS = 128
"""Buckets for each power of two; values below it have a bucket each."""
BUCKETS = 58 * PARTS
"""Enough for any number below 2^64."""


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
    count: int
    sum: int
    min: int
    max: int
    """The last two are 0 if it is empty."""
    buckets: Mapping[int, int]
    """How many values each bucket has, in ascending order of the bucket; no bucket is empty."""

    @property
    def mean(self) -> float:
        """ValueError if it is empty."""
        self._require_values()
        return self.sum / self.count

    def percentile(self, at: float) -> float:
        """The smallest of its values that `at` percent of them do not exceed: the middle of its bucket, but
        the minimum and the maximum are exact. ValueError if it is empty."""
        if not 0 <= at <= 100:
            raise ValueError(f"{at:g} is not a percentage")
        self._require_values()
        rank = max(1, math.ceil(Fraction(repr(float(at))) * self.count / 100))
        if rank == 1:
            return self.min
        if rank == self.count:
            return self.max
        reached = accumulate(self.buckets.values())
        bucket = next(bucket for bucket, below in zip(self.buckets, reached, strict=True) if below >= rank)
        return min(max(sum(bounds(bucket)) / 2, self.min), self.max)

    def _require_values(self) -> None:
        if not self.count:
            raise ValueError("the histogram is empty")


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """One histogram of all values: of several workers, or of several runs."""
    filled = [one for one in histograms if one.count]
    buckets: Counter[int] = Counter()
    for one in filled:
        buckets.update(one.buckets)
    return Histogram(
        count=sum(one.count for one in filled),
        sum=sum(one.sum for one in filled),
        min=min((one.min for one in filled), default=0),
        max=max((one.max for one in filled), default=0),
        buckets=MappingProxyType(dict(sorted(buckets.items()))),
    )
