"""The oracle of contend, compared with one turn at a time."""

from __future__ import annotations

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.contend import oracle as contend
from tests.answerkit import MODULUS, refuses_every_lie, reports_of, turned

PARAMS: dict[str, ParamValue] = {"takes": 30, "hold": 3, "delay": 5, "lock": "park"}


def row(worker: int, takes: int) -> dict[str, int]:
    return {"takes": takes, "own": turned(worker, takes * 5)}


RESULT = {"takes": 30, "chain": turned(0, 90)}


@pytest.mark.parametrize("takes", [(30,), (15, 15), (0, 30), (1, 9, 20)])
def test_any_division_of_the_takes_is_accepted_and_every_change_is_refused(takes: tuple[int, ...]) -> None:
    rows = reports_of([row(k, count) for k, count in enumerate(takes)])
    refuses_every_lie(lambda r, s: contend.check(PARAMS, r, s), rows, RESULT)


def test_a_turn_of_the_chain_that_was_lost_is_refused() -> None:
    with pytest.raises(VerifyError, match="the result reported chain="):
        contend.check(PARAMS, reports_of([row(0, 30)]), {**RESULT, "chain": turned(0, 89)})


def test_takes_without_the_delay_are_refused() -> None:
    lazy = {"takes": 15, "own": turned(1, 14 * 5)}
    with pytest.raises(VerifyError, match="worker 1 reported own="):
        contend.check(PARAMS, reports_of([row(0, 15), lazy]), RESULT)


def test_takes_below_zero_are_refused() -> None:
    """The guest prints -1 as 2^64 - 1. The sum is right modulo 2^64, so `fairness` would be wrong."""
    rows = [{"takes": MODULUS - 1, "own": 0}, row(1, 31)]
    with pytest.raises(
        VerifyError, match="worker 0 reported takes=18446744073709551615, but there are only 30"
    ):
        contend.check(PARAMS, reports_of(rows), RESULT)


def test_takes_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(VerifyError, match="the sum of all workers reported takes=29"):
        contend.check(PARAMS, reports_of([row(0, 15), row(1, 14)]), RESULT)
