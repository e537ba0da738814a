from __future__ import annotations

from fractions import Fraction

from benchgate.mix import robustness
from benchgate.mix.applications import ApplicationInput, Applications
from benchgate.mix.estimates import figure
from benchgate.mix.robustness import Robustness
from benchgate.mix.sensitivity import Sigma
from benchgate.mix.vectors import Vector
from tests import mixsim


def chosen(a: str, b: str, mix: dict[str, int]) -> Robustness:
    """Two inputs of one resource, whose shares have these samples; both have the sensitivity 1."""
    one = mixsim.study().inputs[0]
    found = []
    for name, words in (("a", a), ("b", b)):
        samples = [Fraction(word) for word in words.split()]
        of = type(one)(name, "x", one.workload, 1, (), "rate", None, "")
        found.append(Vector(of, figure([Fraction(1)]), {"cpu": figure(samples)}))
    inputs = tuple(
        ApplicationInput(
            v.input.application, "x", Fraction(1), tuple(f.value for f in v.use.values() if f), "v.csv:2"
        )
        for v in found
    )
    applications = Applications(("cpu",), inputs, {"a": (Fraction(1),), "b": (Fraction(1),)})
    sigmas = [Sigma(name, "cpu", figure([Fraction(1)])) for name in "ab"]
    return robustness.assess(applications, found, sigmas, {}, mix)


def test_figures_without_noise_choose_the_same_mix() -> None:
    found = chosen("0.6 0.6", "0.3 0.3", {"a.x": 1, "b.x": 1})
    assert (found.same, found.fits, found.least) == (1, 1, 1)
    assert found.chosen == (("a.x=1,b.x=1", 100),)


def test_noise_that_changes_the_choice() -> None:
    """Half of the draws have b = 0.3 and choose a + b; in the others b = 0.5, which does not fit beside a."""
    found = chosen("0.6", "0.3 0.5", {"a.x": 1, "b.x": 1})
    assert found.same == found.fits
    assert 0.35 < found.same < 0.65
    assert found.chosen[0][1] + found.chosen[1][1] == 100
    assert dict(found.chosen).keys() == {"a.x=1,b.x=1", "b.x=2"}


def test_a_mix_that_is_not_the_best_any_more() -> None:
    """With b = 0.5 two of them use all; a and a single b = 0.4 use 0.9 of 1."""
    found = chosen("0.5", "0.4 0.5", {"a.x": 1, "b.x": 1})
    assert found.fits == 1
    assert 0.89 < found.least <= 1


def test_the_draws_are_always_the_same() -> None:
    assert chosen("0.6", "0.3 0.5", {"a.x": 1}) == chosen("0.6", "0.3 0.5", {"a.x": 1})
