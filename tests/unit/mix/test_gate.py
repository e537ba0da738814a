from __future__ import annotations

from fractions import Fraction

import pytest

from benchgate.base.gates import Word
from benchgate.mix import gate
from benchgate.mix.isolation import MixIsolation, slowdown


def mix(kept: str, noise: str = "0.001", seeds: int = 3) -> MixIsolation:
    """A mix of two parts: one loses nothing, the other keeps this share of its score."""
    scores = [100 * (1 + Fraction(noise) * n) for n in (-1, 0, 1)][:seeds]
    parts = [
        slowdown(f"a.{n}#1", scores, [Fraction(k) * one for one in scores])
        for n, k in (("x", "1"), ("y", kept))
    ]
    return MixIsolation("a.x=1,a.y=1", tuple(parts), 0.0, ())


MISSING = MixIsolation("a.x=1", (), 0.0, (), "INVALID: part a.x#1 ended early")


@pytest.mark.parametrize(
    ("found", "threshold", "outcome", "said"),
    [
        (mix("0.95"), 0.9, Word.PASS, "is 0.950 [0.948, 0.952], by a.y#1; required >= 0.9"),
        (mix("0.85"), 0.9, Word.FAIL, "FAIL: isolation of a.x=1,a.y=1 is 0.850"),
        (mix("0.8995"), 0.9, Word.INCONCLUSIVE, "is higher than the effect"),
        (
            mix("0.85", "0.1"),
            0.9,
            Word.INCONCLUSIVE,
            "the A/A noise floor of 22% is higher than the effect of 5%",
        ),
        (mix("0.95", seeds=1), 0.9, Word.INCONCLUSIVE, "a single seed gives no noise floor"),
        (MISSING, 0.9, Word.INVALID, "part a.x#1 ended early"),
    ],
)
def test_at_least(found: MixIsolation, threshold: float, outcome: Word, said: str) -> None:
    verdict = gate.at_least(found, threshold)
    assert verdict.outcome is outcome
    assert said in verdict.reason


@pytest.mark.parametrize(
    ("found", "other", "outcome"),
    [
        (mix("0.95"), mix("0.9"), Word.PASS),
        (mix("0.85"), mix("0.9"), Word.FAIL),
        (mix("0.9"), mix("0.9"), Word.INCONCLUSIVE),
        (mix("0.95"), mix("0.9", "0.05"), Word.INCONCLUSIVE),
        (mix("0.95"), MISSING, Word.INVALID),
    ],
)
def test_not_worse_than_another_system(found: MixIsolation, other: MixIsolation, outcome: Word) -> None:
    verdict = gate.not_worse(found, other, "linux")
    assert verdict.outcome is outcome
    assert verdict.reason.startswith(f"{outcome}: ")
