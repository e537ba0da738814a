"""Histograms of all counted runs together: units, columns, percentiles, what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from benchgate.base.statistics.histogram import Histogram, bucket_of
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.judge.accounts.distributions import COLUMNS, distributions, merged_percentiles
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import cell, raw_run, verified

P99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)
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
    (distribution,) = distributions(runs, DECLARED)["primes-linux-smp1"]
    assert (distribution.name, distribution.unit, distribution.count) == ("wake", "ns", 4)
    assert (distribution.low, distribution.high) == (10_000, 10_000)
    assert len(distribution.columns) == 1
    low, high, count = distribution.columns[0]
    assert count == 4
    assert low <= 10_000 < high
    assert high / low == 2 ** (1 / COLUMNS)
    assert dict(distribution.percentiles)[50.0] == 10_000


def test_every_value_is_in_one_column() -> None:
    values = [0, 1, 2, 3, 100, 1000, 1000, 65_536, 10**12]
    (distribution,) = distributions([judged(values)], DECLARED)["primes-linux-smp1"]
    assert sum(count for _, _, count in distribution.columns) == len(values)
    ends = [end for low, high, _ in distribution.columns for end in (low, high)]
    assert ends == sorted(ends)


def test_warmups_and_unknown_units_are_left_out() -> None:
    assert distributions([judged([5], warmup=True)], DECLARED) == {}
    assert distributions([judged([5], None)], DECLARED) == {}
    assert distributions([judged([])], DECLARED) == {}


P75 = Metric("wake_p75", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=75.0)
DEPTH = Metric("depth_p75", MetricKind.PERCENTILE, MetricDirection.LESS, "requests", of="wake", at=75.0)
RPS = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "/s", of="done")
MERGED_DECLARED = {"primes-linux": {one.name: one for one in (P75, DEPTH, RPS)}}


def run(
    number: int, *values: tuple[int, int], hz: int = 10**9, warmup: bool = False, void: str = ""
) -> JudgedRun:
    """`values`: pairs of a value below 128, which has a bucket of its own, and how often it was seen."""
    raw = raw_run(cell(2), attempt=number, warmup=warmup)
    numbers = [value for value, _ in values]
    count = sum(n for _, n in values)
    total = sum(value * n for value, n in values)
    one = Histogram(count, total, min(numbers), max(numbers), MappingProxyType(dict(values)))
    metrics = {"wake_p75": 1.0, "depth_p75": 1.0, "rps": 2.0}
    done = replace(verified(raw, 1000), histograms={"wake": one}, hz=hz, metrics=metrics, void=void)
    return JudgedRun(raw, done)


def test_all_values_count_and_not_the_percentile_of_each_run() -> None:
    runs = [run(1, (10, 100)), run(2, (10, 100)), run(3, (10, 20), (90, 80))]
    # Of 300 values 220 are 10, so the 75th percentile, the 225th, is 90; two of three runs have 10.
    assert merged_percentiles(runs, MERGED_DECLARED) == {
        "primes-linux-smp2": {"wake_p75": 90.0, "depth_p75": 90.0}
    }


def test_a_warmup_a_void_and_an_invalid_run_count_for_nothing() -> None:
    bad = [
        run(1, (99, 9), warmup=True),
        run(2, (99, 9), void="steal"),
        JudgedRun(raw_run(cell(2)), None, "x"),
    ]
    assert merged_percentiles(bad, MERGED_DECLARED) == {}
    assert (
        merged_percentiles([*bad, run(4, (10, 1))], MERGED_DECLARED)["primes-linux-smp2"]["wake_p75"] == 10.0
    )


def test_runs_whose_clocks_differ_are_merged_in_ns() -> None:
    # 100 ticks of 2 GHz are 50 ns, 60 ticks of 1 GHz are 60 ns: sorted by ticks the answer would be 100.
    runs = [run(1, (100, 70), hz=2 * 10**9), run(2, (60, 30), hz=10**9)]
    result = merged_percentiles(runs, MERGED_DECLARED)["primes-linux-smp2"]
    assert result == {"wake_p75": 60.0, "depth_p75": 100.0}


def test_a_percentile_that_a_run_lacks_is_left_out() -> None:
    bare = run(2, (10, 1))
    assert bare.verified is not None
    lacking = replace(bare, verified=replace(bare.verified, metrics={"rps": 1.0}, histograms={}))
    assert merged_percentiles([run(1, (10, 1)), lacking], MERGED_DECLARED) == {}
