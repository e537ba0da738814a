"""Buckets are where guest/bench.h puts them, and percentiles are near those of the values themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.statistics.histogram import BUCKETS, Histogram, bounds, bucket_of, merged, percentile_of

VALUES = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50)


def of(values: Sequence[int]) -> Histogram:
    buckets = dict(sorted(Counter(map(bucket_of, values)).items()))
    return Histogram(len(values), sum(values), min(values, default=0), max(values, default=0), buckets)


@pytest.mark.parametrize(
    ("value", "bucket"),
    # From the formula in guest/bench.h, by hand.
    [
        (0, 0),
        (127, 127),
        (128, 128),
        (255, 255),
        (256, 256),
        (257, 256),
        (258, 257),
        (512, 384),
        (2000, 634),
        (1_000_000, 1780),
        (2**63, 7296),
        (2**64 - 1, 7423),
    ],
)
def test_the_bucket_of_a_value(value: int, bucket: int) -> None:
    assert bucket_of(value) == bucket
    low, high = bounds(bucket)
    assert low <= value <= high


def test_buckets_follow_each_other_without_a_gap() -> None:
    assert bounds(0) == (0, 0)
    for bucket in range(1, BUCKETS):
        assert bounds(bucket)[0] == bounds(bucket - 1)[1] + 1
    assert bounds(BUCKETS - 1)[1] == 2**64 - 1


@given(st.integers(0, 2**64 - 1))
def test_the_middle_of_a_bucket_is_near_each_of_its_values(value: int) -> None:
    low, high = bounds(bucket_of(value))
    assert low <= value <= high
    assert abs(Fraction(low + high, 2) - value) * 256 <= value


@given(VALUES, st.floats(0, 100))
def test_a_percentile_is_near_that_of_the_values(values: list[int], at: float) -> None:
    rank = max(1, math.ceil(Fraction(repr(at)) * len(values) / 100))
    exact = sorted(values)[rank - 1]
    assert of(values).percentile(at) == pytest.approx(exact, rel=1 / 256)


def test_percentiles_of_a_hundred_values() -> None:
    seen = of(range(1, 101))
    assert [seen.percentile(at) for at in (0, 1, 50, 50.5, 99, 99.9, 100)] == [1, 1, 50, 51, 99, 100, 100]
    assert seen.mean == 50.5


def test_a_percentile_is_never_beyond_what_was_seen() -> None:
    seen = of([1_000_000, 1_000_001])
    assert (seen.percentile(0), seen.percentile(100)) == (1_000_000, 1_000_001)
    assert of([1003] * 3).percentile(50) == 1003


def test_an_empty_histogram_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="the histogram is empty"):
        of([]).percentile(50)
    with pytest.raises(ValueError, match="the histogram is empty"):
        _ = of([]).mean


@pytest.mark.parametrize("at", [-0.1, 100.1, math.nan])
def test_a_percentage_is_between_0_and_100(at: float) -> None:
    with pytest.raises(ValueError, match="is not a percentage"):
        of([1]).percentile(at)


@given(st.lists(st.tuples(VALUES, st.sampled_from([0.25, 1, 3])), min_size=1, max_size=4), st.floats(0, 100))
def test_a_percentile_of_several_is_near_that_of_all_their_values(
    parts: list[tuple[list[int], float]], at: float
) -> None:
    every = sorted(value * unit for values, unit in parts for value in values)
    rank = max(1, math.ceil(Fraction(repr(at)) * len(every) / 100))
    seen = percentile_of([(of(values), unit) for values, unit in parts], at)
    assert seen == pytest.approx(every[rank - 1], rel=1 / 256)


def test_the_percentile_of_two_runs_is_not_the_median_of_theirs() -> None:
    quiet, busy = of([10] * 99 + [20]), of([10] * 50 + [100] * 50)
    assert (quiet.percentile(99), busy.percentile(99)) == (10, 100)
    both = [(quiet, 1), (busy, 1)]  # 149 of 10, one of 20, 50 of 100
    assert [percentile_of(both, at) for at in (74, 75, 76)] == [10, 20, 100]
    both = [(quiet, 10), (busy, 1)]  # 50 of 10, 149 of 100, one of 200
    assert [percentile_of(both, at) for at in (25, 26, 99)] == [10, 100, 100]
    assert percentile_of([(quiet, 10), (busy, 1)], 100) == 200


@given(st.lists(VALUES, max_size=4))
def test_merging_is_as_if_one_worker_had_seen_all(parts: list[list[int]]) -> None:
    assert merged([of([]), *map(of, parts)]) == of([value for part in parts for value in part])
