"""The oracle of locks, compared with one turn at a time."""

from __future__ import annotations

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.locks import oracle as locks
from tests.answerkit import refuses_every_lie, reports_of, turned

PARAMS: dict[str, ParamValue] = {"takes": 30, "hold": 3, "delay": 5, "kind": "tas"}


def row(worker: int, takes: int) -> dict[str, int]:
    return {"takes": takes, "own": turned(worker, takes * 5)}


def result(passed: int) -> dict[str, int]:
    return {"takes": 30, "chain": turned(0, 90), "met": 0, "passed": passed}


@pytest.mark.parametrize(
    ("takes", "passed"), [((30,), 0), ((15, 15), 15), ((0, 30), 0), ((1, 9, 20), 21), ((1, 29), 1)]
)
def test_any_division_of_the_takes_is_accepted_and_every_change_is_refused(
    takes: tuple[int, ...], passed: int
) -> None:
    """`passed` is the most that this division allows, so one more is a lie."""
    rows = reports_of([row(k, count) for k, count in enumerate(takes)])
    refuses_every_lie(lambda r, s: locks.check(PARAMS, r, s), rows, result(passed))


def test_a_worker_that_met_another_is_refused() -> None:
    with pytest.raises(VerifyError, match="the result reported met=1"):
        locks.check(PARAMS, reports_of([row(0, 30)]), {**result(0), "met": 1})


def test_a_lost_turn_of_the_chain_is_refused() -> None:
    with pytest.raises(VerifyError, match="the result reported chain="):
        locks.check(PARAMS, reports_of([row(0, 30)]), {**result(0), "chain": turned(0, 89)})


def test_passed_more_often_than_the_others_took_the_lock_is_refused() -> None:
    with pytest.raises(VerifyError, match="passed 16 times, but the others took the lock 15 times"):
        locks.check(PARAMS, reports_of([row(0, 15), row(1, 15)]), result(16))


def test_takes_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(VerifyError, match="the sum of all workers reported takes=29"):
        locks.check(PARAMS, reports_of([row(0, 15), row(1, 14)]), result(0))
