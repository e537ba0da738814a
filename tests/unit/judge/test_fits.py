"""The laws of a session's rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Placement
from benchgate.base.gates import Arm
from benchgate.base.statistics.laws import Model
from benchgate.judge.fits import Fit, fits
from tests.unit.factories import arm, cell

ALPHA = 0.0276


def row(*counts: int, sigma: float = 0.05, system: str = "linux") -> list[Arm]:
    times = ((n, 1e6 * (1 + sigma * (n - 1)) / n) for n in counts)
    return [
        arm(cell(n, system=system), [by * time for by in (1.0, 0.99, 1.01, 0.995, 1.005)])
        for n, time in times
    ]


def found(*arms: Arm) -> list[Fit]:
    return list(fits({one.cell.id: one for one in arms}, ALPHA))


def test_a_row_has_the_laws_for_which_it_has_enough_counts() -> None:
    assert found(*row(1, 2)) == []
    assert [fit.scaling.model for fit in found(*row(1, 2, 4, 8))] == [Model.AMDAHL]
    both = found(*row(1, 2, 4, 8, 16), *row(1, 2, 4, system="tern"))
    assert [(fit.row, fit.scaling.model) for fit in both] == [
        ("primes-linux", Model.AMDAHL),
        ("primes-linux", Model.USL),
        ("primes-tern", Model.AMDAHL),
    ]


def test_a_fit_has_the_curve_and_the_arms_beside_it() -> None:
    (fit,) = found(*row(8, 1, 4, 2))
    scaling, law = fit.scaling, fit.scaling.law
    assert scaling.counts == (1, 2, 4, 8)
    assert law.speedup(8) == pytest.approx(8 / 1.35, rel=1e-6)
    speedups = [law.one / middle for middle in scaling.medians]
    assert speedups == pytest.approx([law.speedup(n) for n in scaling.counts], rel=1e-6)
    assert scaling.intervals["sigma"].low < 0.05 < scaling.intervals["sigma"].high
    assert fit.said.startswith("primes-linux: Amdahl, serial 0.05 [0.04")
    assert fit.said.endswith("residuals +0.0% +0.0% +0.0% +0.0% (smp1,2,4,8)")


def test_the_sentence_says_if_a_law_does_not_describe_the_row() -> None:
    arms = row(1, 2, 4, 8)
    arms[1] = arm(cell(2), [2 * sample for sample in (arms[1].work.samples if arms[1].work else ())])
    (fit,) = found(*arms)
    assert not fit.scaling.is_shaped
    assert "the row is not Amdahl-shaped: smp2 takes" in fit.said


@pytest.mark.parametrize(
    "bad",
    [
        arm(cell(8), [1e5] * 5, placement=Placement.OVERSUBSCRIBED),
        arm(cell(8), [1e5] * 5, placement=Placement.SMT),
        arm(cell(8), [1e5] * 4),
        arm(cell(8), [1e5] * 5, invalid=("0009: wrong",)),
        arm(replace(cell(8), variant="smt"), [1e5] * 5),
        arm(cell(8)),
    ],
)
def test_an_arm_that_no_gate_may_use_is_in_no_fit(bad: Arm) -> None:
    (fit,) = found(*row(1, 2, 4), bad)
    assert fit.scaling.counts == (1, 2, 4)


def test_arms_of_different_placements_are_not_one_row() -> None:
    assert found(*row(1, 2), arm(cell(4), [3e5] * 5, placement=Placement.VIRTUAL)) == []
