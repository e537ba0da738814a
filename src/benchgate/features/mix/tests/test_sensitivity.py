from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from benchgate.features.mix import outcome, sensitivity, vectors
from benchgate.features.mix.measurement import StudyRun
from benchgate.features.mix.sensitivity import Sigma
from benchgate.features.mix.study import RESOURCES
from benchgate.features.mix.tests import mixsim
from benchgate.features.mix.tests.mixsim import TRUTH, Simulated, Truth


def measured(system: Simulated, text: str = "") -> dict[tuple[str, str], Sigma]:
    study = mixsim.study(text)
    runs = mixsim.runs_of(study, system)
    sigmas = sensitivity.compute(study, runs, vectors.compute(study, runs))
    return {(sigma.application, sigma.resource): sigma for sigma in sigmas}


def value(sigma: Sigma) -> float:
    assert sigma.figure is not None, sigma.missing
    return float(sigma.figure.value)


@pytest.mark.parametrize("name", ["prime.large", "writer.large", "walker.small"])
@pytest.mark.parametrize("resource", RESOURCES)
def test_the_sensitivities_are_those_of_the_simulated_system(name: str, resource: str) -> None:
    """The model loses w (1 - limit), so w is the truth at every limit."""
    sigmas = measured(Simulated(TRUTH))
    wanted = float(TRUTH[name].weight.get(resource, 0))
    assert value(sigmas[name.partition(".")[0], resource]) == pytest.approx(wanted, abs=1e-6)


def test_by_hand() -> None:
    """A run keeps 0.9, 0.5 and 0.1 at limits of 75, 50 and 25%: (0.1 + 0.5 + 0.9) / 1.5."""
    kept = {75: Fraction(9, 10), 50: Fraction(1, 2), 25: Fraction(1, 10)}
    levels = [sensitivity.LimitEffect("a.b", at, Fraction(at, 100), part) for at, part in kept.items()]
    assert sensitivity._of_seed(levels) == 1
    levels[2] = sensitivity.LimitEffect("a.b", 25, Fraction(1, 4), Fraction(4, 10))
    assert sensitivity._of_seed(levels) == Fraction(12, 15)


def test_more_than_the_limit_is_1_and_a_gain_is_0() -> None:
    thrashes = {
        **TRUTH,
        "walker.small": Truth(Fraction(50), mixsim.shares(cache="0.75"), mixsim.shares(cache="1.3")),
    }
    assert value(measured(Simulated(thrashes))["walker", "cache"]) == 1
    gains = {
        **TRUTH,
        "walker.small": Truth(Fraction(50), mixsim.shares(cache="0.75"), mixsim.shares(cache="-0.3")),
    }
    sigma = measured(Simulated(gains))["walker", "cache"]
    assert value(sigma) == 0
    assert [float(level.kept) for level in sigma.levels] == pytest.approx([1.075, 1.15, 1.225])


def test_what_is_hardly_used_is_not_limited() -> None:
    sigma = measured(Simulated(TRUTH))["prime", "cache"]
    assert value(sigma) == 0
    assert sigma.levels == ()
    assert sigma.missing == "it uses less than 1.00%, so it was not limited"


def test_the_interval_has_the_noise_of_the_seeds() -> None:
    estimate = measured(Simulated(TRUTH, noise=Fraction(1, 20)))["walker", "cpu"].figure
    assert estimate is not None
    assert estimate.low < 0.5 < estimate.high
    assert estimate.high - estimate.low < 0.2


def test_a_limit_without_a_result_is_left_out() -> None:
    fails = {f"limit-walker.small-cpu25-s{seed}": "it hung" for seed in (1, 2, 3)}
    sigma = measured(Simulated(TRUTH, fails=fails))["walker", "cpu"]
    assert [level.percent for level in sigma.levels] == [75, 50]
    assert value(sigma) == pytest.approx(0.5)


def test_a_limit_that_did_not_hold_is_left_out() -> None:
    """Such a limit is that of a disk that is throttled once in 100 ms, in a window that is shorter."""
    study = mixsim.study()
    runs = mixsim.runs_of(study, Simulated(TRUTH))
    for seed in (1, 2, 3):
        for at in (50, 25):
            key = f"limit-writer.large-disk{at}-s{seed}"
            runs[key] = replace(runs[key], measured=runs[f"alone-writer.large-s{seed}"].measured)

    def disk() -> Sigma:
        sigmas = sensitivity.compute(study, runs, vectors.compute(study, runs))
        return next(sigma for sigma in sigmas if (sigma.application, sigma.resource) == ("writer", "disk"))

    assert [level.percent for level in disk().levels] == [75]
    assert value(disk()) == pytest.approx(float(TRUTH["writer.large"].weight["disk"]), abs=1e-6)
    for seed in (1, 2, 3):
        key = f"limit-writer.large-disk75-s{seed}"
        runs[key] = replace(runs[key], measured=runs[f"alone-writer.large-s{seed}"].measured)
    assert disk().figure is None
    assert re.search(
        "limit did not hold: at 75% writer.large used 100% .*; next: raise `least`", disk().missing
    )


def test_no_limit_with_a_result_is_unavailable_and_says_why() -> None:
    fails = {f"limit-walker.small-cpu{at}-s{seed}": "it hung" for at in (75, 50, 25) for seed in (1, 2, 3)}
    sigma = measured(Simulated(TRUTH, fails=fails))["walker", "cpu"]
    assert sigma.figure is None
    assert sigma.missing == "INVALID: it hung (runs/limit-walker.small-cpu75-s1/1)"


def test_a_cache_of_which_no_fewer_ways_can_be_had_is_not_limited() -> None:
    study = mixsim.study()
    runs = mixsim.runs_of(study, Simulated(TRUTH))
    keys = [key for key in runs if key.startswith("limit-walker.small-cache")]
    for key in keys:
        runs[key] = StudyRun(None, "it uses 1.0 of 16 ways, and 75% of them is no fewer")
    sigmas = {
        (sigma.application, sigma.resource): sigma
        for sigma in sensitivity.compute(study, runs, vectors.compute(study, runs))
    }
    assert value(sigmas["walker", "cache"]) == 0
    assert sigmas["walker", "cache"].missing.startswith("it was not limited: it uses 1.0 of 16 ways")
    assert not any(
        "ways" in text for text in outcome.conclude(study, runs, outcome.known(study, runs), None, ()).invalid
    )
    runs[keys[0]] = StudyRun(None, "it hung", None, "runs/x/1")
    sigmas = {
        (sigma.application, sigma.resource): sigma
        for sigma in sensitivity.compute(study, runs, vectors.compute(study, runs))
    }
    assert sigmas["walker", "cache"].figure is None


def test_what_is_unavailable_alone_is_unavailable_here() -> None:
    sigma = measured(Simulated(TRUTH, unread=("memory",)))["walker", "memory"]
    assert sigma.figure is None
    assert sigma.missing == "the kernel has no file for it"
