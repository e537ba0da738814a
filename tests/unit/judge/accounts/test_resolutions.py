"""What the clock could not resolve: the largest of the counted runs."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.runs import Disorder, Resolution
from benchgate.judge.accounts.resolutions import resolutions
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import cell, raw_run, verified


def run(number: int, cpus: int, seen: Resolution | None, *, warmup: bool = False) -> JudgedRun:
    raw = raw_run(cell(cpus), attempt=number, warmup=warmup)
    return JudgedRun(raw, replace(verified(raw, 1000), resolution=seen))


def test_each_field_is_the_largest_of_the_counted_runs() -> None:
    runs = [
        run(1, 2, Resolution(9_999, 9_999, 9_999), warmup=True),
        run(2, 2, Resolution(5_000, 7, 300)),
        run(3, 2, Resolution(100, 9, 200)),
        run(4, 1, None),
    ]
    assert resolutions(runs) == {"primes-linux-smp2": Resolution(5_000, 9, 300)}
    runs.append(run(4, 2, Resolution(0, 0, 0, late_in_total=400)))
    assert resolutions(runs) == {"primes-linux-smp2": Resolution(5_000, 9, 300, late_in_total=400)}


def test_a_run_without_a_result_counts_for_nothing() -> None:
    assert resolutions([JudgedRun(raw_run(cell(2)), None, "wrong")]) == {}


def test_the_order_bound_is_the_most_accesses_and_the_worst_one_with_its_line() -> None:
    seen = [
        Disorder(3, 120, 170, 0x1000, 2),
        None,
        Disorder(1, 500, 500, 0x2000),
        Disorder(9, 10, 90, 0x3000),
    ]
    runs = [run(n, 2, Resolution(0, 0, 0, order=one)) for n, one in enumerate(seen, 1)]
    assert resolutions(runs)["primes-linux-smp2"].order == Disorder(9, 500, 500, 0x2000, 2)
