"""Histograms of all counted runs together: units, columns, percentiles, what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchgate.base.histogram import Histogram, bucket_of
from benchgate.base.metrics import Better, Metric, MetricKind
from benchgate.judge.distributions import COLUMNS, distributions
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import cell, raw_run, verified

P99 = Metric("wake_p99", MetricKind.PERCENTILE, Better.LESS, "ns", of="wake", at=99.0)
DECLARED = {"primes-linux": {"wake_p99": P99}}


def histogram(values: Sequence[int]) -> Histogram:
    buckets = {bucket_of(value): values.count(value) for value in sorted(values)}
    return Histogram(len(values), sum(values), min(values, default=0), max(values, default=0), buckets)


def judged(
    values: Sequence[int], hz: int | None = 1_000_000_000, attempt: int = 1, *, warmup: bool = False
) -> JudgedRun:
    raw = raw_run(cell(1), attempt=attempt, warmup=warmup)
    return JudgedRun(raw, replace(verified(raw, 10_000), histograms={"wake": histogram(values)}, hz=hz))


def test_values_of_runs_with_other_clocks_are_in_ns() -> None:
    """Ten ticks at 1 MHz are 10 us, as 10,000 at 1 GHz."""
    runs = [judged([10] * 3, 1_000_000), judged([10_000], attempt=2)]
    (found,) = distributions(runs, DECLARED)["primes-linux-smp1"]
    assert (found.name, found.unit, found.count) == ("wake", "ns", 4)
    assert (found.low, found.high) == (10_000, 10_000)
    assert len(found.columns) == 1
    low, high, count = found.columns[0]
    assert count == 4
    assert low <= 10_000 < high
    assert high / low == 2 ** (1 / COLUMNS)
    assert dict(found.percentiles)[50.0] == 10_000


def test_every_value_is_in_one_column() -> None:
    values = [0, 1, 2, 3, 100, 1000, 1000, 65_536, 10**12]
    (found,) = distributions([judged(values)], DECLARED)["primes-linux-smp1"]
    assert sum(count for _, _, count in found.columns) == len(values)
    ends = [end for low, high, _ in found.columns for end in (low, high)]
    assert ends == sorted(ends)


def test_warmups_and_unknown_units_are_left_out() -> None:
    assert distributions([judged([5], warmup=True)], DECLARED) == {}
    assert distributions([judged([5], None)], DECLARED) == {}
    assert distributions([judged([])], DECLARED) == {}
