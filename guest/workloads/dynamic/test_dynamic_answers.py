"""The oracle of dynamic, compared with one item at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate import ParamValue, VerifyError, WorkerReport
from guest.workloads.dynamic import oracle as dynamic
from tests.answerkit import MODULUS, folded, mixed, refuses_every_lie, reports_of, turned

PARAMS: dict[str, ParamValue] = {"items": 40, "grain": 3, "skew": 2, "seed": 5}


def cost(item: int) -> int:
    text = f"{mixed(5 + item):b}"
    return 3 << min(2, len(text) - len(text.rstrip("0")))


def answer(item: int) -> int:
    return turned(mixed(5 + item), cost(item))


def row(items: list[int]) -> dict[str, int]:
    return {
        "items": len(items),
        "turns": sum(map(cost, items)),
        "sum": sum(map(answer, items)) % MODULUS,
    }


def result(lost: int = 0, twice: int = 0) -> dict[str, int]:
    return {"lost": lost, "twice": twice, "fold": folded([answer(i) for i in range(40)])}


def two(first: list[int], second: list[int]) -> list[WorkerReport]:
    return reports_of([row(first), row(second)])


def test_the_costs_are_skewed_as_documented() -> None:
    costs = [cost(item) for item in range(40)]
    assert set(costs) == {3, 6, 12}
    assert dynamic.answers(40, 3, 2, 5)[0]["turns"] == sum(costs)


def test_any_division_of_the_items_is_accepted_and_every_change_is_refused() -> None:
    for taken in (range(0, 40, 2), range(3), range(0)):
        first = list(taken)
        second = [item for item in range(40) if item not in first]
        refuses_every_lie(lambda r, s: dynamic.check(PARAMS, r, s), two(first, second), result())


def test_an_item_that_nobody_did_is_refused() -> None:
    with pytest.raises(VerifyError, match="the sum of all workers reported items=39"):
        dynamic.check(PARAMS, two(list(range(20)), list(range(21, 40))), result())
    with pytest.raises(VerifyError, match="the result reported lost=1"):
        dynamic.check(PARAMS, two(list(range(20)), list(range(21, 40))), result(lost=1))


def test_an_item_done_twice_is_refused() -> None:
    with pytest.raises(VerifyError, match="the sum of all workers reported items=41"):
        dynamic.check(PARAMS, two(list(range(21)), list(range(20, 40))), result())


def test_one_item_instead_of_another_is_refused() -> None:
    skipped = [item for item in range(40) if item != 7]
    cheap = next(item for item in skipped if cost(item) == cost(7))
    with pytest.raises(VerifyError, match="the sum of all workers reported sum="):
        dynamic.check(PARAMS, two(skipped, [cheap]), result())


@pytest.mark.parametrize(
    ("moved", "reason"),
    [
        ({"items": 16}, "worker 0 reported turns=.*, but 4 items have 12 to 48"),
        ({"turns": 80}, "worker 0 reported turns=.*, but 20 items have 60 to 240"),
        ({"items": 25}, "worker 0 reported items=18446744073709551611, but there are only 40"),
    ],
)
def test_work_that_was_moved_to_another_worker_is_refused(moved: dict[str, int], reason: str) -> None:
    """The sums of all workers stay right, modulo 2^64, so that only `balance` would be wrong."""
    one, other = two(list(range(20)), list(range(20, 40)))
    less = {key: (one.values[key] - moved.get(key, 0)) % MODULUS for key in one.values}
    more = {key: (other.values[key] + moved.get(key, 0)) % MODULUS for key in other.values}
    with pytest.raises(VerifyError, match=reason):
        dynamic.check(PARAMS, [replace(one, values=less), replace(other, values=more)], result())


def test_workers_that_report_other_names_are_refused() -> None:
    odd = two(list(range(20)), list(range(20, 40)))
    odd[1] = replace(odd[1], values={**odd[1].values, "more": 0})
    with pytest.raises(VerifyError, match="worker 1 reported the fields"):
        dynamic.check(PARAMS, odd, result())
