"""decide.py: several gates over shared arms, and arms made of runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Word
from benchgate.base.runs import VerifiedRun
from benchgate.judge.arms import arm_of
from benchgate.judge.decide import decide
from tests.unit.factories import POLICY, arm, cell, raw_run, right, speedup, verified


def by_id(*arms: Arm) -> dict[str, Arm]:
    return {one.cell.id: one for one in arms}


def test_without_runs_every_arm_of_every_gate_needs_runs() -> None:
    arms = by_id(arm(cell(1)), arm(cell(2)), arm(cell(4)))
    decision = decide([speedup(2), speedup(4, 3.0)], arms, POLICY)
    assert decision.needs == {f"primes-linux-smp{n}": 5 for n in (1, 2, 4)}
    assert [verdict.outcome for verdict in decision.verdicts] == [Word.SKIP, Word.SKIP]


def test_only_the_arms_of_an_undecided_gate_need_more_runs() -> None:
    noisy = [50, 52, 53.4, 55, 57]
    arms = by_id(arm(cell(1), [160] * 5), arm(cell(2), [85] * 5), arm(cell(4), noisy))
    decision = decide([speedup(2), speedup(4, 3.0)], arms, POLICY)
    assert decision.needs == {"primes-linux-smp1": 9, "primes-linux-smp4": 9}
    assert [verdict.outcome for verdict in decision.verdicts] == [Word.PASS, Word.INCONCLUSIVE]


def test_an_arm_with_enough_runs_needs_no_more() -> None:
    arms = by_id(arm(cell(1), [160] * 9), arm(cell(2), [85] * 3))
    assert decide([speedup(2)], arms, POLICY).needs == {"primes-linux-smp2": 5}


def test_an_arm_of_two_gates_gets_the_larger_number_of_runs() -> None:
    noisy = [80, 90, 100, 110, 120]
    arms = by_id(arm(cell(1), [160] * 5), arm(cell(2), noisy), arm(cell(4), [50] * 3))
    for gates in ([speedup(2), speedup(4, 3.0)], [speedup(4, 3.0), speedup(2)]):
        needs = decide(gates, arms, POLICY).needs
        assert needs == {"primes-linux-smp1": 9, "primes-linux-smp2": 9, "primes-linux-smp4": 5}


def test_an_invalid_arm_needs_no_more_runs_but_others_do() -> None:
    arms = by_id(arm(cell(1), [160] * 3), arm(cell(2), [85], invalid=("torn line",)), arm(cell(4), [50] * 3))
    decision = decide([right(2), speedup(2), speedup(4, 3.0)], arms, POLICY)
    assert decision.needs == {"primes-linux-smp1": 5, "primes-linux-smp4": 5}
    assert [verdict.outcome for verdict in decision.verdicts] == [Word.INVALID] * 3


def test_without_gates_there_are_no_verdicts_and_no_needs() -> None:
    decision = decide([], {}, POLICY)
    assert decision.needs == {}
    assert decision.verdicts == ()


def test_two_gates_with_the_same_id_are_refused() -> None:
    arms = by_id(arm(cell(1)), arm(cell(2)))
    with pytest.raises(DecideError, match="two gates have the id"):
        decide([speedup(2, 1.6), speedup(2, 1.7)], arms, POLICY)


def some_runs(*works: int) -> list[VerifiedRun]:
    return [verified(raw_run(cell(2), attempt=n), work) for n, work in enumerate(works, start=1)]


def test_an_arm_is_made_of_its_runs() -> None:
    warm = verified(raw_run(cell(2), attempt=8, warmup=True), 5)
    made = arm_of(cell(2), [warm, *some_runs(100, 120)], ["no end line"])
    assert made.work is not None
    assert made.total is not None
    assert (made.work.samples, made.total.samples) == ((100.0, 120.0), (1100.0, 1120.0))
    assert (made.attempted, made.runs, made.lane) == (3, 2, Lane.TCG)
    assert made.invalid == ("no end line",)


def test_an_arm_without_counted_runs_measures_nothing() -> None:
    made = arm_of(cell(2), [], ["kernel panic"])
    assert (made.work, made.total, made.attempted, made.runs) == (None, None, 1, 0)
    assert decide([right(2)], by_id(made), POLICY).verdicts[0].outcome is Word.INVALID


def test_an_arm_whose_runs_do_not_belong_together_is_invalid() -> None:
    one, two = some_runs(100, 100)
    other = replace(two, run=replace(two.run, guest_digest="b" * 64))
    made = arm_of(cell(2), [one, other])
    assert made.work is None
    assert "different guest digests" in made.invalid[0]


def test_the_same_arms_give_the_same_decision() -> None:
    arms = by_id(arm(cell(1), [160] * 5), arm(cell(2), [85] * 5))
    assert decide([speedup(2)], arms, POLICY) == decide([speedup(2)], arms, POLICY)
