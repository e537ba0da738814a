"""The oracle of tasks, compared with sums of one multiplication at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate import ParamValue, VerifyError, WorkerReport
from guest.workloads.tasks import oracle as tasks

PARAMS: dict[str, ParamValue] = {"steps": 2000, "grain": 3, "live": 4}


def plain_sum(lo: int, hi: int, grain: int) -> int:
    total = 0
    for step in range(lo, hi):
        x = step
        for _ in range(grain):
            x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        total += x
    return total % 2**64


def test_one_step_from_zero_is_the_addend() -> None:
    assert tasks.share(0, 1, 1) == 1442695040888963407


@given(st.integers(0, 10**8), st.integers(0, 20), st.integers(1, 40))
def test_closed_form_agrees_with_plain_sums(lo: int, count: int, grain: int) -> None:
    assert tasks.share(lo, lo + count, grain) == plain_sum(lo, lo + count, grain)


def reports(wrong: int = 0) -> list[WorkerReport]:
    cuts = [(0, 1000), (1000, 2000)]
    return [
        WorkerReport(
            i, i, i, 1, 2, {"lo": lo, "hi": hi, "steps": hi - lo, "sum": plain_sum(lo, hi, 3) ^ wrong}
        )
        for i, (lo, hi) in enumerate(cuts)
    ]


def test_a_correct_run_is_accepted() -> None:
    tasks.check(PARAMS, reports(), {"steps": 2000, "sum": plain_sum(0, 2000, 3)})


def test_a_wrong_sum_names_its_worker() -> None:
    with pytest.raises(VerifyError, match="wrong answer: worker 0 reported sum="):
        tasks.check(PARAMS, reports(wrong=1), {"steps": 2000, "sum": plain_sum(0, 2000, 3)})


def test_a_wrong_total_is_refused() -> None:
    with pytest.raises(VerifyError, match="wrong answer: the result reported sum="):
        tasks.check(PARAMS, reports(), {"steps": 2000, "sum": 1})


def test_missing_steps_are_refused() -> None:
    with pytest.raises(VerifyError, match="wrong task"):
        tasks.check(PARAMS, reports()[:1], {"steps": 2000, "sum": plain_sum(0, 2000, 3)})
