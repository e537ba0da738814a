from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchgate.mix import files, outcome, refusals, study_tables
from benchgate.mix.study import Study
from tests import mixsim
from tests.mixsim import TRUTH, Simulated, Truth, shares
from tests.unit.mix import paper


def of_tables(tmp_path: Path, vectors: str, sensitivity: str) -> list[str]:
    found = refusals.of_tables(files.read(*paper.write(tmp_path, vectors, sensitivity)))
    return [line.removeprefix(f"{tmp_path}/") for line in found]


def test_every_score_of_the_paper_rises(tmp_path: Path) -> None:
    assert of_tables(tmp_path, paper.VECTORS, paper.SENSITIVITY) == []


@pytest.mark.parametrize("score", ["2", "1"])
def test_a_table_with_a_score_that_does_not_rise(tmp_path: Path, score: str) -> None:
    vectors = f"application,input,score,cpu\ngame,1,2,0.5\ngame,2,{score},0.6\ngame,3,3,0.7\nother,1,1,0.9\n"
    (said,) = of_tables(tmp_path, vectors, "application,cpu\ngame,1\nother,1\n")
    assert re.search(rf"^v\.csv:3: score: game\.2 uses more than game\.1, .*\({score}, and 2\)", said)


def test_an_input_that_uses_less_of_something_may_score_less(tmp_path: Path) -> None:
    vectors = "application,input,score,cpu,disk\ngame,1,2,0.5,0.2\ngame,2,1,0.6,0.1\n"
    assert of_tables(tmp_path, vectors, "application,cpu,disk\ngame,1,1\n") == []


def single(study: Study, truth: Mapping[str, Truth]) -> outcome.Known:
    return outcome.known(study, mixsim.runs_of(study, Simulated(truth)))


def test_a_study_whose_scores_fall_under_limits() -> None:
    study = mixsim.study()
    known = single(study, TRUTH)
    assert known.refused == {}
    assert [*refusals.falling(study, known.vectors)] == []


SLOW = {**TRUTH, "prime.large": replace(TRUTH["prime.large"], score=Fraction(100))}


def test_a_larger_input_that_does_no_more_is_named() -> None:
    """It may be a harder one, so it stays."""
    study = mixsim.study()
    known = single(study, SLOW)
    (said,) = refusals.falling(study, known.vectors)
    assert re.search(r"^study\.yaml:12: score: prime\.large uses more .*\(100, and 100\)$", said)
    assert known.refused == {}


def test_runs_of_different_sizes_cannot_be_compared_without_units() -> None:
    text = mixsim.STUDY.replace("large: {workers: 2, hi: 20000}", "large: {workers: 2, hi: 40000}")
    study = mixsim.study(text)
    assert [*refusals.falling(study, single(study, SLOW).vectors)] == []
    counted = text.replace("hi: 20000}", "hi: 20000, units: 1}").replace(
        "hi: 40000}", "hi: 40000, units: 2.5}"
    )
    study = mixsim.study(counted)
    assert len([*refusals.falling(study, single(study, SLOW).vectors)]) == 1


@pytest.mark.parametrize(
    ("weight", "why"),
    [
        ("-0.8", "scores more with less cpu, at every limit"),
        ("0.005", "scores as much with less of all that was limited (cpu)"),
    ],
)
def test_an_application_whose_score_does_not_rise_is_in_no_mix(weight: str, why: str) -> None:
    study = mixsim.study()
    odd = Truth(Fraction(30), shares(cpu="0.5"), shares(cpu=weight))
    known = single(study, {**TRUTH, "walker.small": odd})
    assert known.refused.keys() == {"walker"}
    assert known.refused["walker"].startswith(f"study.yaml:20: score: walker {why}, ")
    assert known.refused["walker"].endswith("next: name another `score`")
    assert "walker" not in study_tables.vectors(study, known.vectors, known.refused)
    assert "walker" not in study_tables.sensitivity(study, known.vectors, known.sigmas, known.refused)
    assert "walker,small,score,30.0" in study_tables.vector_intervals(study, known.vectors)
