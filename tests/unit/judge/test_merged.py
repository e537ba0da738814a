"""The percentiles of a cell come from the histograms of all its counted runs together."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from benchgate.base.histogram import Histogram
from benchgate.base.metrics import Better, Metric, MetricKind
from benchgate.judge.judged_run import JudgedRun
from benchgate.judge.merged import merged_percentiles
from tests.unit.factories import cell, raw_run, verified

P75 = Metric("wake_p75", MetricKind.PERCENTILE, Better.LESS, "ns", of="wake", at=75.0)
DEPTH = Metric("depth_p75", MetricKind.PERCENTILE, Better.LESS, "requests", of="wake", at=75.0)
RPS = Metric("rps", MetricKind.RATE, Better.MORE, "/s", of="done")
DECLARED = {"primes-linux": {one.name: one for one in (P75, DEPTH, RPS)}}


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
    assert merged_percentiles(runs, DECLARED) == {"primes-linux-smp2": {"wake_p75": 90.0, "depth_p75": 90.0}}


def test_a_warmup_a_void_and_an_invalid_run_count_for_nothing() -> None:
    bad = [
        run(1, (99, 9), warmup=True),
        run(2, (99, 9), void="steal"),
        JudgedRun(raw_run(cell(2)), None, "x"),
    ]
    assert merged_percentiles(bad, DECLARED) == {}
    assert merged_percentiles([*bad, run(4, (10, 1))], DECLARED)["primes-linux-smp2"]["wake_p75"] == 10.0


def test_runs_whose_clocks_differ_are_merged_in_ns() -> None:
    # 100 ticks of 2 GHz are 50 ns, 60 ticks of 1 GHz are 60 ns: sorted by ticks the answer would be 100.
    runs = [run(1, (100, 70), hz=2 * 10**9), run(2, (60, 30), hz=10**9)]
    found = merged_percentiles(runs, DECLARED)["primes-linux-smp2"]
    assert found == {"wake_p75": 60.0, "depth_p75": 100.0}


def test_a_percentile_that_a_run_lacks_is_left_out() -> None:
    bare = run(2, (10, 1))
    assert bare.verified is not None
    lacking = replace(bare, verified=replace(bare.verified, metrics={"rps": 1.0}, histograms={}))
    assert merged_percentiles([run(1, (10, 1)), lacking], DECLARED) == {}
