"""The gate `verified`: it passes only if all requested runs are verified."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchgate.base.cells import Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Ruling, Word
from benchgate.judge.gates import judge
from tests.unit.factories import POLICY, arm, cell, right, speedup


def rule(one: Arm, runs: int = 5) -> Ruling:
    return judge(right(), GateInput({one.cell.id: one}, POLICY.with_runs(runs, None), {}))


def test_every_run_verified() -> None:
    ruling = rule(arm(cell(2), [100] * 5))
    assert ruling.verdict.reason == "PASS: primes-linux-smp2: 5 runs, all verified"
    assert ruling.verdict.outcome is Word.PASS
    assert ruling.verdict.ratio is None
    assert ruling.verdict.base_cpus is None


def test_one_bad_run_among_many_is_invalid() -> None:
    ruling = rule(arm(cell(2), [100] * 24, invalid=("a worker lies", "no end line")))
    assert ruling.verdict.outcome is Word.INVALID
    assert "2 of 26 runs not verified: a worker lies (and 1 more)" in ruling.verdict.reason
    assert not ruling.needs


def test_without_an_attempt_there_is_no_pass() -> None:
    ruling = rule(arm(cell(2)))
    assert ruling.verdict.outcome is Word.SKIP
    assert ruling.needs == {"primes-linux-smp2": 5}


def test_attempts_without_a_verified_run_are_invalid() -> None:
    assert rule(arm(cell(2), attempted=1)).verdict.outcome is Word.INVALID


def test_too_few_runs_need_more_runs() -> None:
    ruling = rule(arm(cell(2), [100] * 4))
    assert (ruling.verdict.outcome, ruling.needs) == (Word.SKIP, {"primes-linux-smp2": 5})


def test_too_few_runs_because_of_another_invalid_arm_are_invalid() -> None:
    arms = (arm(cell(2), [100] * 4), arm(cell(1), [190] * 4, invalid=("a worker lies",)))
    ruling = judge(right(), GateInput({one.cell.id: one for one in arms}, POLICY.with_runs(5, None), {}))
    assert ruling.verdict.outcome is Word.INVALID
    assert "ended at primes-linux-smp1: 1 of 5 runs not verified: a worker lies" in ruling.verdict.reason


def test_one_run_is_enough_if_one_is_requested() -> None:
    assert rule(arm(cell(2), [100]), runs=1).verdict.outcome is Word.PASS


def test_a_skipped_cell_has_its_reason() -> None:
    ruling = rule(arm(cell(2), skipped="no such CPU"))
    assert ruling.verdict.reason == "SKIP: primes-linux-smp2 was not run: no such CPU"


def test_an_oversubscribed_cell_passes_and_says_so() -> None:
    ruling = rule(arm(cell(2), [100] * 5, placement=Placement.OVERSUBSCRIBED))
    assert ruling.verdict.outcome is Word.PASS
    assert "oversubscribed: functional only" in ruling.verdict.reason


def test_a_base_or_a_threshold_is_refused() -> None:
    with pytest.raises(DecideError, match="takes only a cell"):
        judge(replace(right(), at_least=1.6), GateInput({}, POLICY, {}))


@pytest.mark.parametrize(("shows", "word"), [(False, Word.INCONCLUSIVE), (True, Word.SKIP)])
def test_an_arm_that_the_host_disturbed_too_often_is_not_decided(shows: bool, word: Word) -> None:
    """On a clock that only informs, the host's noise is no failure."""
    one = replace(arm(cell(2), [100] * 2), void=("steal 9%",) * 4, attempted=6)
    policy = replace(POLICY, informs="said", shows=shows)
    ruling = judge(right(), GateInput({one.cell.id: one}, policy, {}))
    assert ruling.verdict.outcome is word
    assert "4 of 6 runs of this sweep are void" in ruling.verdict.reason
    assert not ruling.needs


@pytest.mark.parametrize(
    ("shows", "wrong", "word"),
    [
        (False, (), Word.INVALID),
        (True, (), Word.SKIP),
        (True, ("0003-b: a worker lies",), Word.INVALID),
    ],
)
@pytest.mark.parametrize("gate", [right(), speedup()], ids=["verified", "speedup"])
def test_where_a_clock_only_informs_a_guest_without_a_result_leaves_its_arm_undecided(
    gate: Gate, shows: bool, wrong: tuple[str, ...], word: Word
) -> None:
    """A wrong answer is INVALID on either clock."""
    crashed = "0002-a: the run ended with panic"
    one = replace(arm(cell(2), [100], invalid=(crashed, *wrong)), unfinished=(crashed,))
    arms = {each.cell.id: each for each in (arm(cell(1), [190] * 5), one)}
    verdict = judge(gate, GateInput(arms, replace(POLICY, informs="said", shows=shows), {})).verdict
    assert verdict.outcome is word
    if gate == right():
        assert ("a worker lies" if wrong else "the run ended with panic") in verdict.reason


def test_runs_of_a_program_that_does_not_verify_its_work_only_worked() -> None:
    ruling = rule(replace(arm(cell(2), [100] * 5), informs=True))
    assert ruling.verdict.outcome is Word.PASS
    assert re.search("5 runs, all worked .*unverified by the tool", ruling.verdict.reason)
