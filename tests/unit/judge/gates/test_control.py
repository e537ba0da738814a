"""The negative control: it passes only if the row does not scale."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import CapacityBound, GateInput, Ruling, Word
from benchgate.judge.gates import judge
from tests.unit.factories import POLICY, arm, cell, control


def rule(base: list[float], other: list[float]) -> Ruling:
    arms = {one.cell.id: one for one in (arm(cell(1), base), arm(cell(2), other))}
    return judge(control(), GateInput(arms, POLICY, {2: CapacityBound(Lane.TCG, 2, 1.0, 0.9, 1.1)}))


@pytest.mark.parametrize(
    ("base", "word", "said"),
    [
        ([99, 100, 101, 102, 103], Word.PASS, "= 1.01 [0.99, 1.03] < 1.1 (work"),
        ([110.0] * 5, Word.FAIL, "= 1.10 [1.10, 1.10] >= 1.1 (work"),
        ([150, 151, 152, 153, 154], Word.FAIL, "= 1.52 [1.50, 1.54] > 1.1 (work"),
        ([100, 105, 108, 111, 115], Word.INCONCLUSIVE, "and 1.1 is inside"),
        ([220.0] * 5, Word.INVALID, "above 2.1, which is more than its CPUs allow"),
    ],
)
def test_verdicts_of_a_control(base: list[float], word: Word, said: str) -> None:
    verdict = rule(base, [100.0] * 5).verdict
    assert verdict.outcome is word
    assert said in verdict.reason
    assert verdict.reason.startswith(f"{word}: primes-linux smp2/smp1")


def test_the_hosts_capacity_does_not_excuse_a_control() -> None:
    assert rule([112.0] * 5, [100.0] * 5).verdict.outcome is Word.FAIL


def test_a_control_takes_at_most() -> None:
    measured = GateInput({}, POLICY, {})
    with pytest.raises(DecideError, match="takes at_most"):
        judge(replace(control(), at_most=None), measured)
    with pytest.raises(DecideError, match="takes at_most"):
        judge(replace(control(), at_least=1.0), measured)
