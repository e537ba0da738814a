"""The oracle of primes, compared with known answers and with plain division."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate import ParamValue, VerifyError, WorkerReport
from guest.workloads.primes import oracle as primes

PARAMS: dict[str, ParamValue] = {"hi": 10_000, "split": "width", "wait": "join"}


def by_division(lo: int, end: int) -> dict[str, int]:
    """The definition of the workload, one division at a time."""
    count = total = divs = 0
    for n in range(lo, end):
        prime, d = True, 2
        while prime and d * d <= n:
            divs += 1
            prime = n % d != 0
            d += 1 if d == 2 else 2
        count += prime
        total += n if prime else 0
    return {"count": count, "sum": total, "divs": divs}


@pytest.mark.parametrize(
    ("hi", "count"), [(10_000, 1229), (100_000, 9592), (1_000_000, 78_498), (3_000_000, 216_816)]
)
def test_known_counts_of_primes(hi: int, count: int) -> None:
    assert primes.answer(hi, 2, hi + 1)["count"] == count


def test_known_sum_of_primes_below_two_million() -> None:
    assert primes.answer(2_000_000, 2, 2_000_000)["sum"] == 142_913_828_922  # Project Euler, problem 10


@pytest.mark.parametrize(("lo", "end"), [(2, 10_001), (2, 3), (4, 4), (9, 26), (120, 122), (9_000, 10_001)])
def test_ranges_agree_with_plain_division(lo: int, end: int) -> None:
    assert primes.answer(10_000, lo, end) == by_division(lo, end)


def test_a_table_of_several_segments_agrees_with_plain_division(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primes, "_SEGMENT", 1000)
    primes.table.cache_clear()
    try:
        assert primes.answer(10_007, 900, 10_008) == by_division(900, 10_008)
    finally:
        primes.table.cache_clear()


def report(number: int, lo: int, end: int) -> WorkerReport:
    return WorkerReport(number, 0, 0, 1, 2, {"lo": lo, "hi": end, **by_division(lo, end)})


def test_correct_workers_are_accepted() -> None:
    whole = by_division(2, 10_001)
    primes.check(PARAMS, [report(0, 2, 5001), report(1, 5001, 10_001)], whole)
    primes.check({**PARAMS, "split": "one"}, [report(0, 2, 10_001), report(1, 10_001, 10_001)], whole)


@pytest.mark.parametrize(
    ("split", "cut", "reason"),
    [
        ("width", 5000, "wrong split: worker 0 had 4998 items, but each should have 4999.5"),
        ("one", 9999, r"wrong split: worker 1 had 9999\.\.10001"),
        ("none", 5000, "split=none is not cost, one or width"),
    ],
)
def test_another_split_than_requested_is_refused(split: str, cut: int, reason: str) -> None:
    reports = [report(0, 2, cut), report(1, cut, 10_001)]
    with pytest.raises(VerifyError, match=reason):
        primes.check({**PARAMS, "split": split}, reports, by_division(2, 10_001))


def test_one_wrong_worker_is_named() -> None:
    wrong = replace(report(1, 5000, 10_001), values={**report(1, 5000, 10_001).values, "sum": 1})
    with pytest.raises(VerifyError, match="worker 1 reported sum=1, expected sum="):
        primes.check(PARAMS, [report(0, 2, 5000), wrong], by_division(2, 10_001))


def test_a_missing_or_an_extra_value_is_refused() -> None:
    values = {key: value for key, value in report(0, 2, 10_001).values.items() if key != "divs"}
    for odd in (values, {**report(0, 2, 10_001).values, "more": 1}):
        with pytest.raises(VerifyError, match="worker 0 reported"):
            primes.check(PARAMS, [replace(report(0, 2, 10_001), values=odd)], by_division(2, 10_001))


def test_an_unequal_split_is_refused_with_split_cost() -> None:
    reports = [report(0, 2, 5000), report(1, 5000, 10_001)]
    with pytest.raises(VerifyError, match="unequal split: worker 0 had divs="):
        primes.check({**PARAMS, "split": "cost"}, reports, by_division(2, 10_001))
