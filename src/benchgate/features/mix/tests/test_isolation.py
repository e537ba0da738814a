from __future__ import annotations

from fractions import Fraction

import pytest

from benchgate.base.gates import Word
from benchgate.features.mix import isolation, vectors
from benchgate.features.mix.isolation import MixIsolation, slowdown
from benchgate.features.mix.tests import mixsim
from benchgate.features.mix.tests.mixsim import TRUTH, Simulated

FITS = {"prime.small": 2, "writer.large": 1, "walker.small": 1}
TWICE = {"prime.large": 4}
"""Needs 200% of the CPUs."""


def measured(system: Simulated, counts: dict[str, int]) -> MixIsolation:
    study = mixsim.study()
    runs = mixsim.runs_of(study, system, counts)
    return isolation.compute(study, runs, vectors.compute(study, runs), counts)


def test_a_mix_that_fits_loses_nothing() -> None:
    mix_isolation = measured(Simulated(TRUTH), FITS)
    assert [one.part for one in mix_isolation.parts] == [
        "prime.small#1",
        "prime.small#2",
        "writer.large#1",
        "walker.small#1",
    ]
    assert [one.value for one in mix_isolation.parts] == [0, 0, 0, 0]
    assert (mix_isolation.value, mix_isolation.total) == (1, 0)


def test_twice_the_cpus_cost_half_of_the_score() -> None:
    mix_isolation = measured(Simulated(TRUTH), TWICE)
    assert [one.value for one in mix_isolation.parts] == [0.5] * 4
    assert (mix_isolation.value, mix_isolation.total) == (0.5, 0.5)


def test_the_worst_names_a_loser_that_the_sum_hides() -> None:
    """The walker has 50 of 2 x 100 + 30 + 50 points, and loses a fifth of them: 10 of 280."""
    mix_isolation = measured(Simulated(TRUTH, starves={"walker.small": Fraction(1, 5)}), FITS)
    assert mix_isolation.worst.part == "walker.small#1"
    assert mix_isolation.value == pytest.approx(0.8)
    assert mix_isolation.total == pytest.approx(10 / 280)


def test_the_floor_is_the_noise_of_both() -> None:
    mix_isolation = measured(Simulated(TRUTH, noise=Fraction(1, 50)), FITS)
    assert mix_isolation.floor is not None
    assert 0.005 < mix_isolation.floor < 0.05
    for one in mix_isolation.parts:
        assert one.low <= 0.04
        assert one.high >= -0.04
        assert one.low < one.high


def test_by_hand() -> None:
    """Medians 4 and 3. The extremes: 2.9 / 4.1 and 3.1 / 3.9."""
    lone, mixed = (
        [Fraction("3.9"), Fraction(4), Fraction("4.1")],
        [Fraction("2.9"), Fraction(3), Fraction("3.1")],
    )
    result = isolation.slowdown("a", lone, mixed)
    assert result.value == 0.25
    assert result.low >= 1 - 3.1 / 3.9 - 1e-12
    assert result.high <= 1 - 2.9 / 4.1 + 1e-12
    assert result.low < 0.25 < result.high


def test_a_single_seed_has_no_floor() -> None:
    assert isolation.slowdown("a", [Fraction(4)], [Fraction(3)]).floor is None


def test_a_part_that_completes_nothing_has_lost_all() -> None:
    result = isolation.slowdown("a", [Fraction(4), Fraction(4)], [Fraction(0), Fraction(0)])
    assert (result.value, result.low, result.high) == (1, 1, 1)


def test_use_of_the_mix_against_its_parts() -> None:
    uses = {use.resource: use for use in measured(Simulated(TRUTH), TWICE).use}
    assert (uses["cpu"].alone, uses["cpu"].mixed) == (2, 1)
    assert (uses["memory"].alone, uses["memory"].mixed) == pytest.approx((0.16, 0.16), abs=1e-6)


def test_a_mix_without_a_result_says_why() -> None:
    fails = {f"mix-prime.large=4-s{seed}": "part prime.large#2 never completed a run" for seed in (1, 2, 3)}
    mix_isolation = measured(Simulated(TRUTH, fails=fails), TWICE)
    assert (
        mix_isolation.missing
        == "INVALID: part prime.large#2 never completed a run (runs/mix-prime.large=4-s1/1)"
    )
    assert mix_isolation.parts == ()


def mix(name: str, kept: str, noise: str = "0.01", seeds: int = 3) -> MixIsolation:
    """A mix of one part that keeps this share of its score."""
    step = Fraction(noise)
    scores = [100 * (1 + step * n) for n in (-1, 0, 1)][:seeds]
    part = slowdown("a.b#1", scores, [Fraction(kept) * score for score in scores])
    return MixIsolation(name, (part,), part.value, ())


def test_mixes_that_agree() -> None:
    validity = isolation.validity([mix("x", "0.9"), mix("y", "0.88"), mix("z", "0.92")])
    assert validity.outcome is Word.PASS
    assert validity.deviation == pytest.approx(0.02)
    assert "so it does not matter which of them is run" in validity.reason


def test_mixes_that_do_not_agree() -> None:
    """0.9 and 0.5 have a standard deviation of 0.28."""
    validity = isolation.validity([mix("x", "0.9"), mix("y", "0.5")])
    assert validity.outcome is Word.FAIL
    assert validity.deviation == pytest.approx(0.2828, abs=1e-4)


def test_noise_above_the_bound_decides_nothing() -> None:
    validity = isolation.validity([mix("x", "0.9", "0.1"), mix("y", "0.88", "0.1")])
    assert validity.outcome is Word.INCONCLUSIVE
    assert "raise `seeds`" in validity.reason


def test_mixes_of_a_single_seed_have_no_floor() -> None:
    validity = isolation.validity([mix("x", "0.9", seeds=1), mix("y", "0.88", seeds=1)])
    assert validity.outcome is Word.INCONCLUSIVE


def test_one_mix_cannot_agree() -> None:
    assert (
        isolation.validity([mix("x", "0.9"), MixIsolation("y", (), 0.0, (), "INVALID: it hung")]).outcome
        is Word.SKIP
    )


def gate_mix(kept: str, noise: str = "0.001", seeds: int = 3) -> MixIsolation:
    """A mix of two parts: one loses nothing, the other keeps this share of its score."""
    scores = [100 * (1 + Fraction(noise) * n) for n in (-1, 0, 1)][:seeds]
    parts = [
        slowdown(f"a.{n}#1", scores, [Fraction(k) * score for score in scores])
        for n, k in (("x", "1"), ("y", kept))
    ]
    return MixIsolation("a.x=1,a.y=1", tuple(parts), 0.0, ())


MISSING = MixIsolation("a.x=1", (), 0.0, (), "INVALID: part a.x#1 ended early")


@pytest.mark.parametrize(
    ("found", "threshold", "outcome", "said"),
    [
        (gate_mix("0.95"), 0.9, Word.PASS, "is 0.950 [0.948, 0.952], by a.y#1; required >= 0.9"),
        (gate_mix("0.85"), 0.9, Word.FAIL, "FAIL: isolation of a.x=1,a.y=1 is 0.850"),
        (gate_mix("0.8995"), 0.9, Word.INCONCLUSIVE, "is higher than the effect"),
        (
            gate_mix("0.85", "0.1"),
            0.9,
            Word.INCONCLUSIVE,
            "the A/A noise floor of 22% is higher than the effect of 5%",
        ),
        (gate_mix("0.95", seeds=1), 0.9, Word.INCONCLUSIVE, "a single seed gives no noise floor"),
        (MISSING, 0.9, Word.INVALID, "part a.x#1 ended early"),
    ],
)
def test_at_least(found: MixIsolation, threshold: float, outcome: Word, said: str) -> None:
    verdict = isolation.at_least(found, threshold)
    assert verdict.outcome is outcome
    assert said in verdict.reason


@pytest.mark.parametrize(
    ("found", "other", "outcome"),
    [
        (gate_mix("0.95"), gate_mix("0.9"), Word.PASS),
        (gate_mix("0.85"), gate_mix("0.9"), Word.FAIL),
        (gate_mix("0.9"), gate_mix("0.9"), Word.INCONCLUSIVE),
        (gate_mix("0.95"), gate_mix("0.9", "0.05"), Word.INCONCLUSIVE),
        (gate_mix("0.95"), MISSING, Word.INVALID),
    ],
)
def test_not_worse_than_another_system(found: MixIsolation, other: MixIsolation, outcome: Word) -> None:
    verdict = isolation.not_worse(found, other, "linux")
    assert verdict.outcome is outcome
    assert verdict.reason.startswith(f"{outcome}: ")
