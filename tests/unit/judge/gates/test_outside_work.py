"""An arm with more CPUs does no more work outside of its window."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Lane
from benchgate.base.gates import Arm, GateInput, Word
from benchgate.base.runs import CpuWork, Outside
from benchgate.judge import gates
from benchgate.judge.gates.outside_work import found
from tests.unit.factories import POLICY, arm, cell, speedup

INSIDE = 2_000_000
"""Of two CPUs: each has a share of 1,000,000."""


def arm_with(cpus: int, *outside: Outside | None) -> Arm:
    made = arm(cell(cpus), [19e6 / cpus] * 5, lane=Lane.INSN, unit="insn")
    work = replace(made.measurements["work"], cpu_work=tuple(CpuWork(outside=one) for one in outside))
    return replace(made, measurements={**made.measurements, "work": work})


def outside(busiest: int, together: int) -> Outside:
    return Outside(busiest, together, INSIDE)


def said(base: Outside | None, other: Outside | None) -> str:
    ones, twos = (arm_with(n, one).measurements["work"] for n, one in ((1, base), (2, other)))
    return found(ones, twos, 5)


@pytest.mark.parametrize(
    ("busiest", "together", "who"),
    [
        (50_000, 50_000, ""),
        (60_000, 60_000, ""),
        (
            60_001,
            60_001,
            "its busiest CPU executed 60001 instructions at smp2 and 50000 at smp1, and at most 10000",
        ),
        (50_000, 150_000, ""),  # another CPU polls while the program starts
        (
            50_000,
            150_001,
            "all CPUs executed 150001 instructions at smp2 and 50000 at smp1, and at most 100000",
        ),
        (10_000, 20_000, ""),
    ],
)
def test_the_work_outside_may_grow_by_one_percent_of_a_cpus_share(
    busiest: int, together: int, who: str
) -> None:
    seen = said(outside(50_000, 50_000), outside(busiest, together))
    assert who in seen
    assert bool(seen) is bool(who)


def test_what_is_not_known_says_nothing() -> None:
    assert not said(None, outside(10**6, 10**6))
    assert not said(outside(0, 0), None)


def test_the_runs_that_say_least_count() -> None:
    ones = arm_with(1, outside(50_000, 50_000), outside(70_000, 70_000)).measurements["work"]
    twos = arm_with(2, outside(75_000, 75_000), outside(90_000, 90_000)).measurements["work"]
    assert not found(ones, twos, 5)
    assert found(ones, twos, 1)


def test_the_verdict_is_invalid() -> None:
    arms = [arm_with(1, *[outside(1000, 1000)] * 5), arm_with(2, *[outside(500_000, 500_000)] * 5)]
    verdict = gates.judge(speedup(), GateInput({one.cell.id: one for one in arms}, POLICY, {})).verdict
    assert verdict.outcome is Word.INVALID
    assert (
        "but outside of its window, from the typed line to its begin and from its end to the"
        in verdict.reason
    )
