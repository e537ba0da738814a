"""Invalid arms and policies are refused; the looks of a session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import UsageError
from benchgate.base.gates import Arm
from tests.unit.factories import POLICY, cell, measurement


@pytest.mark.parametrize(
    ("runs", "max_runs", "looks"),
    [
        (None, None, (5, 9, 15, 25)),
        (None, 5, (5,)),
        (None, 9, (5, 9)),
        (7, 7, (7,)),
        (7, None, (7, 9, 15, 25)),
        (9, 15, (9, 15)),
        (31, None, (31,)),
        (1, None, ()),
        (1, 25, ()),
    ],
)
def test_the_looks_of_a_session(runs: int | None, max_runs: int | None, looks: tuple[int, ...]) -> None:
    assert POLICY.with_runs(runs, max_runs).session_looks == looks


@pytest.mark.parametrize("runs", [0, -1, 2, 3, 4, 6, 8])
def test_an_invalid_number_of_runs_is_refused(runs: int) -> None:
    with pytest.raises(UsageError, match=f"--runs {runs}: it must be odd and at least 5, or 1"):
        POLICY.with_runs(runs, None)


def test_a_maximum_below_the_first_look_is_refused() -> None:
    with pytest.raises(UsageError, match="--max-runs 5 is below --runs 9"):
        POLICY.with_runs(9, 5)


@pytest.mark.parametrize(
    ("runs", "max_runs", "looks"),
    [(None, 6, "5, 9, 15, 25"), (None, 24, "5, 9, 15, 25"), (7, 8, "7, 9, 15, 25"), (9, 14, "9, 15, 25")],
)
def test_a_maximum_that_is_not_a_look_is_refused(runs: int | None, max_runs: int, looks: str) -> None:
    with pytest.raises(UsageError, match=f"--max-runs {max_runs}: .*use one of {looks}$"):
        POLICY.with_runs(runs, max_runs)


@pytest.mark.parametrize(
    "change",
    [
        {"looks": ()},
        {"looks": (5, 5)},
        {"looks": (9, 5)},
        {"looks": (3, 5)},
        {"looks": (5, 10)},
        {"alpha": 0.0},
        {"alpha": 0.2},
        {"superlinear": 0.9},
        {"capacity_reach": 0.0},
    ],
)
def test_invalid_policies_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        replace(POLICY, **change)  # type: ignore[arg-type]


def test_an_arm_refuses_measurements_of_another_cell() -> None:
    work = measurement(cell(2), [1.0])
    for broken in (
        {"cell": cell(1), "measurements": {"work": work}},
        {"cell": cell(2), "measurements": {"total": work}},
        {"cell": cell(2), "measurements": {"work": work}, "lane": Lane.KVM, "placement": Placement.PHYSICAL},
    ):
        with pytest.raises(ValueError):
            Arm(**broken)  # type: ignore[arg-type]
