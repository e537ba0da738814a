""""""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.features.mix import files, selection
from benchgate.features.mix.measurement import figure
from benchgate.features.mix.programme import ApplicationInput, Applications, best, is_maximal
from benchgate.features.mix.selection import BEST, NEAR, MixPlan, Robustness, Selection
from benchgate.features.mix.sensitivity import Sigma
from benchgate.features.mix.study import Study
from benchgate.features.mix.tests import mixsim, paper
from benchgate.features.mix.vectors import Vector


@pytest.fixture
def papers(tmp_path: Path) -> Applications:
    return files.read(*paper.write(tmp_path))


def with_role(found: Selection, role: str) -> list[MixPlan]:
    return [plan for plan in found.chosen if role in plan.roles]


def study_of_the_paper() -> Study:
    inputs = tuple(
        replace(mixsim.study().inputs[0], application=name, input=word)
        for name, word in (
            ("game", "1"),
            ("game", "N"),
            ("webb", "1"),
            ("webb", "N"),
            ("antiv", "1"),
            ("antiv", "N"),
        )
    )
    return replace(
        mixsim.study(),
        inputs=inputs,
        scaling="game",
        overcommit=(Fraction(1), Fraction(2)),
        near=5,
        capacity={},
    )


def test_the_mixes_of_a_study_each_once_with_all_roles(papers: Applications) -> None:
    result = selection.select(study_of_the_paper(), papers)
    (best_one,) = with_role(result, BEST)
    assert best_one.counts == {"game.1": 2, "webb.1": 1, "antiv.N": 1}
    assert set(best_one.roles) == {"best", "near", "overcommit 1", "scaling game.1"}
    assert len({tuple(plan.counts.items()) for plan in result.chosen}) == len(result.chosen)


def test_near_optimal_mixes_are_maximal(papers: Applications) -> None:
    """2.465, with antiv.1, uses 80% of the disk: no input fits into what is left. 2.3625 is the least."""
    result = selection.select(study_of_the_paper(), papers)
    mixes = [papers.mix(plan.counts) for plan in with_role(result, NEAR)]
    near = [float(mix.objective) for mix in mixes]
    assert near == [2.625, 2.475, 2.465, 2.4, 2.39]
    assert all(is_maximal(mix, papers, {}) for mix in mixes)
    (alone,) = [
        choice
        for choice in best(papers, {}, 30)
        if [(i.name, n) for i, n in choice.counts] == [("game.1", 1)]
    ]
    assert not is_maximal(alone, papers, {})


def test_the_application_that_is_scaled_is_in_its_mixes(papers: Applications) -> None:
    """game.N needs all of the CPU, so it is alone: 0.8 + 0.8 + 0.5 x 0.6 + 0.5 x 0.4 + 0.5 x 0.1."""
    result = selection.select(study_of_the_paper(), papers)
    (scaled,) = with_role(result, "scaling game.N")
    assert scaled.counts == {"game.N": 1}
    assert papers.mix(scaled.counts).objective == Fraction("2.15")


def test_twice_the_capacity_holds_twice_the_mix(papers: Applications) -> None:
    (plan,) = with_role(selection.select(study_of_the_paper(), papers), "overcommit 2")
    mix = papers.mix(plan.counts)
    assert mix.objective >= 2 * Fraction("2.625")
    assert max(mix.totals) <= 2


def test_a_role_without_a_mix_says_why(papers: Applications) -> None:
    less = replace(study_of_the_paper(), capacity={"cpu": Fraction("0.9")})
    result = selection.select(less, papers)
    (absent,) = result.absent
    assert re.search(r"^scaling game\.N: there is no mix with game\.N: .* capacity$", absent)
    without = replace(papers, inputs=papers.inputs[:1])
    assert "scaling game.N: game.N is not in the programme" in selection.select(less, without).absent


def test_no_mix_at_all_is_an_error(papers: Applications) -> None:
    with pytest.raises(UsageError, match=r"v\.csv:1: there is no mix: each input exceeds a capacity alone"):
        selection.select(replace(study_of_the_paper(), capacity={"cpu": Fraction("0.01")}), papers)


def chosen(a: str, b: str, mix: dict[str, int]) -> Robustness:
    """Two inputs of one resource, whose shares have these samples; both have the sensitivity 1."""
    study_input = mixsim.study().inputs[0]
    vectors = []
    for name, words in (("a", a), ("b", b)):
        samples = [Fraction(word) for word in words.split()]
        of = type(study_input)(name, "x", study_input.workload, 1, (), "rate", None, "")
        vectors.append(Vector(of, figure([Fraction(1)]), {"cpu": figure(samples)}))
    inputs = tuple(
        ApplicationInput(
            v.input.application, "x", Fraction(1), tuple(f.value for f in v.use.values() if f), "v.csv:2"
        )
        for v in vectors
    )
    applications = Applications(("cpu",), inputs, {"a": (Fraction(1),), "b": (Fraction(1),)})
    sigmas = [Sigma(name, "cpu", figure([Fraction(1)])) for name in "ab"]
    return selection.assess(applications, vectors, sigmas, {}, mix)


def test_figures_without_noise_choose_the_same_mix() -> None:
    robustness = chosen("0.6 0.6", "0.3 0.3", {"a.x": 1, "b.x": 1})
    assert (robustness.same, robustness.fits, robustness.least) == (1, 1, 1)
    assert robustness.chosen == (("a.x=1,b.x=1", 100),)


def test_noise_that_changes_the_choice() -> None:
    """Half of the draws have b = 0.3 and choose a + b; in the others b = 0.5, which does not fit beside a."""
    robustness = chosen("0.6", "0.3 0.5", {"a.x": 1, "b.x": 1})
    assert robustness.same == robustness.fits
    assert 0.35 < robustness.same < 0.65
    assert robustness.chosen[0][1] + robustness.chosen[1][1] == 100
    assert dict(robustness.chosen).keys() == {"a.x=1,b.x=1", "b.x=2"}


def test_a_mix_that_is_not_the_best_any_more() -> None:
    """With b = 0.5 two of them use all; a and a single b = 0.4 use 0.9 of 1."""
    robustness = chosen("0.5", "0.4 0.5", {"a.x": 1, "b.x": 1})
    assert robustness.fits == 1
    assert 0.89 < robustness.least <= 1


def test_the_draws_are_always_the_same() -> None:
    assert chosen("0.6", "0.3 0.5", {"a.x": 1}) == chosen("0.6", "0.3 0.5", {"a.x": 1})
