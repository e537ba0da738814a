from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchgate.features.mix import files, findings, outcome
from benchgate.features.mix.programme import best
from benchgate.features.mix.study import Study
from benchgate.features.mix.tests import mixsim, paper
from benchgate.features.mix.tests.mixsim import TRUTH, Simulated, Truth, shares


def said(tmp_path: Path, vectors: str, sensitivity: str = paper.SENSITIVITY, **capacity: str) -> list[str]:
    applications = files.read(*paper.write(tmp_path, vectors, sensitivity))
    limits = {name: Fraction(word) for name, word in capacity.items()}
    return [line.removeprefix(f"{tmp_path}/") for line in findings.of_applications(applications, limits)]


def test_nothing_is_odd_about_the_paper(tmp_path: Path) -> None:
    assert said(tmp_path, paper.VECTORS) == []


def test_an_input_that_exceeds_a_capacity_alone(tmp_path: Path) -> None:
    (result,) = said(tmp_path, paper.VECTORS, disk="0.7")
    assert re.search(r"^v\.csv:7: disk: antiv\.N alone uses 80%, .* of 70%, and is in no mix$", result)


def test_a_resource_that_no_input_uses(tmp_path: Path) -> None:
    vectors = "application,input,score,cpu,disk\ngame,1,1,0.5,0\n"
    (result,) = said(tmp_path, vectors, "application,cpu,disk\ngame,1,1\n")
    assert result.startswith("v.csv:1: no input uses disk")


def test_an_input_that_adds_nothing(tmp_path: Path) -> None:
    vectors = "application,input,score,cpu\ngame,1,1,0.5\nidle,1,1,0.5\n"
    (result,) = said(tmp_path, vectors, "application,cpu\ngame,1\nidle,0\n")
    assert re.search(r"^v\.csv:3: idle\.1 uses no resource .* in no mix$", result)


def test_a_resource_that_is_unavailable(tmp_path: Path) -> None:
    vectors = "application,input,score,cpu,disk\ngame,1,1,0.5,unavailable\n"
    (result,) = said(tmp_path, vectors, "application,cpu,disk\ngame,1,1\n")
    assert result.startswith("v.csv:1: disk is unavailable ")


def test_a_resource_that_the_best_mix_leaves_alone(tmp_path: Path) -> None:
    vectors = "application,input,score,cpu,disk\ngame,1,1,1,0\nscan,1,1,0.1,0.1\n"
    applications = files.read(
        *paper.write(tmp_path, vectors, "application,cpu,disk\ngame,1,1\nscan,0.1,0.1\n")
    )
    (mix,) = best(applications, {})
    (result,) = findings.of_mix(mix, applications)
    assert result.startswith(f"{tmp_path}/v.csv:1: the best mix does not use disk")


def test_an_input_that_uses_next_to_nothing(tmp_path: Path) -> None:
    """The programme would be bounded by 100 million of them."""
    vectors = "application,input,score,cpu\ngame,1,1,0.00000001\n"
    applications = files.read(*paper.write(tmp_path, vectors, "application,cpu\ngame,1\n"))
    (mix,) = best(applications, {})
    assert list(findings.of_mix(mix, applications)) == [
        f"{tmp_path}/v.csv:2: game.1 uses so little that 10,000 instances fit, and no more are tried"
    ]


def of_tables(tmp_path: Path, vectors: str, sensitivity: str) -> list[str]:
    result = findings.of_tables(files.read(*paper.write(tmp_path, vectors, sensitivity)))
    return [line.removeprefix(f"{tmp_path}/") for line in result]


def test_every_score_of_the_paper_rises(tmp_path: Path) -> None:
    assert of_tables(tmp_path, paper.VECTORS, paper.SENSITIVITY) == []


@pytest.mark.parametrize("score", ["2", "1"])
def test_a_table_with_a_score_that_does_not_rise(tmp_path: Path, score: str) -> None:
    vectors = f"application,input,score,cpu\ngame,1,2,0.5\ngame,2,{score},0.6\ngame,3,3,0.7\nother,1,1,0.9\n"
    assert of_tables(tmp_path, vectors, "application,cpu\ngame,1\nother,1\n") == [
        f"v.csv:3: score: game.2 uses more than game.1, but its score is not higher ({score}, and 2): "
        "a score must rise with resources"
    ]


def test_an_input_that_uses_less_of_something_may_score_less(tmp_path: Path) -> None:
    vectors = "application,input,score,cpu,disk\ngame,1,2,0.5,0.2\ngame,2,1,0.6,0.1\n"
    assert of_tables(tmp_path, vectors, "application,cpu,disk\ngame,1,1\n") == []


def single(study: Study, truth: Mapping[str, Truth]) -> outcome.ApplicationFigures:
    return outcome.known(study, mixsim.runs_of(study, Simulated(truth)))


def test_a_study_whose_scores_fall_under_limits() -> None:
    study = mixsim.study()
    known = single(study, TRUTH)
    assert known.refused == {}
    assert [*findings.falling(study, known.vectors)] == []


SLOW = {**TRUTH, "prime.large": replace(TRUTH["prime.large"], score=Fraction(100))}


def test_a_larger_input_that_does_no_more_is_named() -> None:
    """It may be a harder one, so it stays."""
    study = mixsim.study()
    known = single(study, SLOW)
    assert [*findings.falling(study, known.vectors)] == [
        "study.yaml:12: score: prime.large uses more than prime.small, but its score is not higher "
        "(100, and 100)"
    ]
    assert known.refused == {}


def test_runs_of_different_sizes_cannot_be_compared_without_units() -> None:
    text = mixsim.STUDY.replace("large: {workers: 2, hi: 20000}", "large: {workers: 2, hi: 40000}")
    study = mixsim.study(text)
    assert [*findings.falling(study, single(study, SLOW).vectors)] == []
    counted = text.replace("hi: 20000}", "hi: 20000, units: 1}").replace(
        "hi: 40000}", "hi: 40000, units: 2.5}"
    )
    study = mixsim.study(counted)
    assert len([*findings.falling(study, single(study, SLOW).vectors)]) == 1


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
    assert known.refused == {
        "walker": f"study.yaml:20: score: walker {why}, so it is refused, and in no mix; "
        "next: name another `score`"
    }
    assert "walker" not in files.vectors_csv(study, known.vectors, known.refused)
    assert "walker" not in files.sensitivity_csv(study, known.vectors, known.sigmas, known.refused)
    assert "walker,small,score,30.0" in files.vector_intervals_csv(study, known.vectors)
