from __future__ import annotations

from fractions import Fraction

import pytest

from benchgate.base.gates import Word
from benchgate.mix import validity
from benchgate.mix.isolation import Isolation, slowdown


def mix(name: str, kept: str, noise: str = "0.01", seeds: int = 3) -> Isolation:
    """A mix of one part that keeps this share of its score."""
    step = Fraction(noise)
    scores = [100 * (1 + step * n) for n in (-1, 0, 1)][:seeds]
    part = slowdown("a.b#1", scores, [Fraction(kept) * one for one in scores])
    return Isolation(name, (part,), part.value, ())


def test_mixes_that_agree() -> None:
    found = validity.of([mix("x", "0.9"), mix("y", "0.88"), mix("z", "0.92")])
    assert found.outcome is Word.PASS
    assert found.deviation == pytest.approx(0.02)
    assert "so it does not matter which of them is run" in found.reason


def test_mixes_that_do_not_agree() -> None:
    """0.9 and 0.5 have a standard deviation of 0.28."""
    found = validity.of([mix("x", "0.9"), mix("y", "0.5")])
    assert found.outcome is Word.FAIL
    assert found.deviation == pytest.approx(0.2828, abs=1e-4)


def test_noise_above_the_bound_decides_nothing() -> None:
    found = validity.of([mix("x", "0.9", "0.1"), mix("y", "0.88", "0.1")])
    assert found.outcome is Word.INCONCLUSIVE
    assert "raise `seeds`" in found.reason


def test_a_single_seed_has_no_floor() -> None:
    found = validity.of([mix("x", "0.9", seeds=1), mix("y", "0.88", seeds=1)])
    assert found.outcome is Word.INCONCLUSIVE


def test_one_mix_cannot_agree() -> None:
    assert (
        validity.of([mix("x", "0.9"), Isolation("y", (), 0.0, (), "INVALID: it hung")]).outcome is Word.SKIP
    )
