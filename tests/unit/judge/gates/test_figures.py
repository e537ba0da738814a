"""The smallest effect: simulated sessions find effects of that size, and mostly miss half of it."""

from __future__ import annotations

import random
import statistics
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane
from benchgate.base.gates import Gate, GateInput, Verdict, Word
from benchgate.base.statistics.stats import Interval
from benchgate.judge.gates import figures, judge
from tests.unit.factories import POLICY, arm, cell, speedup

SESSIONS = 250
AT_ONE_LOOK = replace(POLICY, max_runs=5)
LIMIT = Gate("primes-linux-smp2-limit", "limit", None, cell(2), "total", None, 1000.0)


def ratio_session(source: random.Random, ratio: float, cv: float) -> Verdict:
    """A gate `at_least=1.6` on a kernel of this true ratio, five runs an arm."""
    samples = [[by * source.lognormvariate(0, cv) for _ in range(5)] for by in (ratio, 1.0)]
    arms = {one.cell.id: one for one in (arm(cell(n), of) for n, of in zip((1, 2), samples, strict=True))}
    return judge(speedup(2, 1.6), GateInput(arms, AT_ONE_LOOK, {})).verdict


def limit_session(source: random.Random, truth: float, cv: float) -> Verdict:
    """A gate `at_most=1000` on a metric of this true median, nine runs: with five it needs all below it."""
    of = arm(cell(2), [truth * source.lognormvariate(0, cv) for _ in range(9)])
    return judge(LIMIT, GateInput({of.cell.id: of}, replace(POLICY, first=9, max_runs=9), {})).verdict


def share(verdicts: list[Verdict], word: Word) -> float:
    return sum(verdict.outcome is word for verdict in verdicts) / len(verdicts)


@pytest.mark.parametrize("cv", [0.03, 0.1])
@pytest.mark.parametrize(("sign", "word"), [(1, Word.PASS), (-1, Word.FAIL)])
def test_a_ratio_that_far_from_its_threshold_is_decided(cv: float, sign: int, word: Word) -> None:
    """The effect is taken from sessions of their own, and then planted in others. At a power of 0.8 or more,
    250 sessions have a share below 0.72 in less than 1 of 500 cases. Some 3% of them look like a drift."""
    source = random.Random(f"{cv} {word}")
    stated = [ratio_session(source, 1.9, cv).smallest_effect or 0.0 for _ in range(SESSIONS)]
    size = statistics.median(stated)
    assert size > cv  # half a percent of noise cannot be seen with 3% of it
    for part, least, most in ((1.0, 0.72, 1.0), (0.5, 0.0, 0.6)):
        truth = 1.6 * (1 + part * size) ** sign
        verdicts = [ratio_session(source, truth, cv) for _ in range(SESSIONS)]
        assert least <= share(verdicts, word) <= most, (part, size)


def test_each_session_may_trust_its_own_figure() -> None:
    """The size that a session states, planted in the next one: its noise is estimated from five runs only."""
    source = random.Random(11)
    verdicts = []
    for _ in range(SESSIONS):
        size = ratio_session(source, 1.9, 0.03).smallest_effect or 0.0
        verdicts.append(ratio_session(source, 1.6 * (1 + size), 0.03))
    assert share(verdicts, Word.PASS) >= 0.72


@pytest.mark.parametrize(("sign", "word"), [(-1, Word.PASS), (1, Word.FAIL)])
def test_a_limit_that_far_from_its_threshold_is_decided(sign: int, word: Word) -> None:
    source = random.Random(f"limit {word}")
    stated = [limit_session(source, 800.0, 0.03).smallest_effect or 0.0 for _ in range(SESSIONS)]
    size = statistics.median(stated)
    for part, least, most in ((1.0, 0.72, 1.0), (0.5, 0.0, 0.6)):
        verdicts = [limit_session(source, 1000.0 * (1 + part * size) ** sign, 0.03) for _ in range(SESSIONS)]
        assert least <= share(verdicts, word) <= most, (part, size)


def test_runs_without_noise_see_every_effect_and_the_clocks_delays_hide_some() -> None:
    arms = {
        one.cell.id: one
        for one in (arm(cell(1), [192.0] * 5, lane=Lane.INSN), arm(cell(2), [100.0] * 5, lane=Lane.INSN))
    }
    assert judge(speedup(2), GateInput(arms, POLICY, {})).verdict.smallest_effect == 0.0
    late = {
        name: replace(
            value, measurements={key: replace(of, blur=(0.01,) * 5) for key, of in value.measurements.items()}
        )
        for name, value in arms.items()
    }
    assert judge(speedup(2), GateInput(late, POLICY, {})).verdict.smallest_effect == pytest.approx(0.02)


def test_an_interval_without_an_end_states_no_effect() -> None:
    bottoms = [1.0, 1.0, 1.0]
    everything = Interval(float("-inf"), float("inf"))
    assert figures.effect_of_ratio([1.0, 2.0, 3.0], bottoms, everything, 0.0) is None
    assert figures.effect_of_ratio([1.0, 2.0, 3.0], bottoms, Interval(0.0, 1.0), 0.0) is None
    assert figures.effect_of_value(0.1, Interval(0.0, 0.2), Interval(0.05, 0.15), 0.0) is None


def test_the_effect_of_a_parameter_is_a_share_of_its_threshold() -> None:
    """The interval reaches 0.05 below the threshold and the error is 0.02: together 0.07 of 0.1."""
    result = figures.effect_of_value(0.1, Interval(0.05, 0.13), Interval(0.08, 0.11), 0.1)
    assert result == pytest.approx(0.7)


def test_the_sentence_states_it_before_the_advice() -> None:
    passed = ratio_session(random.Random(1), 2.0, 0.01)
    assert passed.sentence.startswith(passed.reason + "; smallest effect ")
    failed = ratio_session(random.Random(1), 1.2, 0.01)
    what, _, advice = failed.reason.partition("; next: ")
    assert failed.sentence.startswith(what + "; smallest effect ")
    assert failed.sentence.endswith("%; next: " + advice)
    open_ = replace(passed, outcome=Word.INCONCLUSIVE)
    assert open_.sentence == open_.reason
