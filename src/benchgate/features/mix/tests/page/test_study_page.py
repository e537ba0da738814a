from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from benchgate.features.mix import outcome, selection
from benchgate.features.mix.page import study_page
from benchgate.features.mix.selection import Robustness
from benchgate.features.mix.tests import mixsim
from benchgate.features.mix.tests.mixsim import TRUTH, Simulated
from benchgate.features.mix.tests.page.test_study_tables import found

PICTURES = {
    "vectors": "cpu: share of the capacity",
    "sensitivity": "walker: score at a limit, of that alone",
    "isolation": "slowdown of each part: the share of its score that it loses in the mix",
    "bottlenecks": "what the best mix uses, and the sum of what its parts use alone",
    "sweep": "slowdown over CPU counts, against beside a dummy",
    "scaling": "score of prime over its workers",
    "overcommit": "what is left of the scores, over the capacity that the programme was given",
    "validity": "isolation of near-optimal mixes; dashed: the bound on both sides of their mean",
}


def sections(page: str) -> dict[str, str]:
    parts = re.split(r'<section id="(\w+)"', page)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize(("section", "picture"), PICTURES.items())
def test_each_point_has_its_picture(section: str, picture: str) -> None:
    assert f'aria-label="{picture}"' in sections(study_page.page(found()))[section]


def test_a_limit_is_drawn_where_it_was_and_not_where_it_was_asked_for() -> None:
    """A cache of whole ways may have 73% where 50% was asked for."""
    usual = found()
    levels = tuple(replace(level, fraction=Fraction(731, 1000)) for level in usual.sigmas[0].levels)
    sigmas = (replace(usual.sigmas[0], levels=levels), *usual.sigmas[1:])
    section = sections(study_page.page(replace(usual, sigmas=sigmas)))["sensitivity"]
    assert f"{sigmas[0].resource} 73%: " in section
    assert f"{sigmas[0].resource} 73%: " not in sections(study_page.page(usual))["sensitivity"]


def test_how_often_noise_chooses_another_mix_has_its_picture() -> None:
    drawn = Robustness(
        100, (("2 x prime.small", 90), ("4 x prime.large", 10)), same=0.9, fits=1.0, least=0.95
    )
    section = sections(study_page.page(replace(found(), robustness=drawn)))["robustness"]
    assert 'aria-label="mixes that resampled figures choose, by their share of the draws"' in section
    assert "mix 2: 4 x prime.large" in section
    assert "of 100 draws from the samples, 90% choose the same mix" in section


def test_the_headline_names_the_loser() -> None:
    page = study_page.page(found())
    assert "simulated: the best mix has isolation 0.900; walker.small#1 loses most</h1>" in page
    assert "<li>no table</li>" in sections(page)["findings"]


def test_a_study_without_mixes_and_with_invalid_runs() -> None:
    study = replace(mixsim.study(), sweep=None)
    fails = {f"alone-prime.small-s{seed}": "part <b>prime</b> hung" for seed in (1, 2, 3)}
    runs = mixsim.runs_of(study, Simulated(TRUTH, fails=fails))
    page = study_page.page(outcome.conclude(study, runs, outcome.known(study, runs), None, ()))
    assert {*sections(page)} == {"findings", "vectors", "sensitivity", "invalid"}
    assert "part &lt;b&gt;prime&lt;/b&gt; hung" in page
    assert "no mix has run" in page


def test_a_best_mix_without_a_result_says_why() -> None:
    study = mixsim.study()
    runs = mixsim.runs_of(study, Simulated(TRUTH))
    single = outcome.known(study, runs)
    planned = (selection.MixPlan({"prime.small": 1}, ("best",)),)
    page = study_page.page(outcome.conclude(study, runs, single, None, planned))
    assert "the best mix has no result: it was not run yet" in page
