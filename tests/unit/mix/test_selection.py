from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.mix import files, selection
from benchgate.mix.applications import Applications
from benchgate.mix.programme import best, is_maximal
from benchgate.mix.selection import BEST, NEAR, MixPlan, Selection
from benchgate.mix.study import Study
from tests import mixsim
from tests.unit.mix import paper


@pytest.fixture
def papers(tmp_path: Path) -> Applications:
    return files.read(*paper.write(tmp_path))


def with_role(found: Selection, role: str) -> list[MixPlan]:
    return [one for one in found.chosen if role in one.roles]


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
    found = selection.select(study_of_the_paper(), papers)
    (best_one,) = with_role(found, BEST)
    assert best_one.counts == {"game.1": 2, "webb.1": 1, "antiv.N": 1}
    assert set(best_one.roles) == {"best", "near", "overcommit 1", "scaling game.1"}
    assert len({tuple(one.counts.items()) for one in found.chosen}) == len(found.chosen)


def test_near_optimal_mixes_are_maximal(papers: Applications) -> None:
    """2.465, with antiv.1, uses 80% of the disk: no input fits into what is left. 2.3625 is the least."""
    found = selection.select(study_of_the_paper(), papers)
    mixes = [papers.mix(one.counts) for one in with_role(found, NEAR)]
    near = [float(one.objective) for one in mixes]
    assert near == [2.625, 2.475, 2.465, 2.4, 2.39]
    assert all(is_maximal(one, papers, {}) for one in mixes)
    (alone,) = [
        one for one in best(papers, {}, 30) if [(i.name, n) for i, n in one.counts] == [("game.1", 1)]
    ]
    assert not is_maximal(alone, papers, {})


def test_the_application_that_is_scaled_is_in_its_mixes(papers: Applications) -> None:
    """game.N needs all of the CPU, so it is alone: 0.8 + 0.8 + 0.5 x 0.6 + 0.5 x 0.4 + 0.5 x 0.1."""
    found = selection.select(study_of_the_paper(), papers)
    (scaled,) = with_role(found, "scaling game.N")
    assert scaled.counts == {"game.N": 1}
    assert papers.mix(scaled.counts).objective == Fraction("2.15")


def test_twice_the_capacity_holds_twice_the_mix(papers: Applications) -> None:
    (found,) = with_role(selection.select(study_of_the_paper(), papers), "overcommit 2")
    mix = papers.mix(found.counts)
    assert mix.objective >= 2 * Fraction("2.625")
    assert max(mix.totals) <= 2


def test_a_role_without_a_mix_says_why(papers: Applications) -> None:
    less = replace(study_of_the_paper(), capacity={"cpu": Fraction("0.9")})
    found = selection.select(less, papers)
    (absent,) = found.absent
    assert re.search(r"^scaling game\.N: there is no mix with game\.N: .* capacity$", absent)
    without = replace(papers, inputs=papers.inputs[:1])
    assert "scaling game.N: game.N is not in the programme" in selection.select(less, without).absent


def test_no_mix_at_all_is_an_error(papers: Applications) -> None:
    with pytest.raises(UsageError, match=r"v\.csv:1: there is no mix: each input exceeds a capacity alone"):
        selection.select(replace(study_of_the_paper(), capacity={"cpu": Fraction("0.01")}), papers)
