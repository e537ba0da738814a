from __future__ import annotations

from fractions import Fraction

import pytest

from benchgate.mix import vectors
from benchgate.mix.vectors import Vector
from tests import mixsim
from tests.mixsim import TRUTH, Simulated


def measured(system: Simulated, text: str = "") -> dict[str, Vector]:
    study = mixsim.study(text)
    return {one.input.name: one for one in vectors.of(study, mixsim.runs_of(study, system))}


def test_the_shares_are_those_of_the_simulated_system() -> None:
    found = measured(Simulated(TRUTH))
    for name, truth in TRUTH.items():
        for resource, used in found[name].use.items():
            assert used is not None
            assert float(used.value) == pytest.approx(float(truth.needs.get(resource, 0)), abs=1e-6), (
                name,
                resource,
            )
        score = found[name].score
        assert score is not None
        assert score.value == truth.score


def test_a_disk_is_measured_by_the_input_that_calibrates_it() -> None:
    """It needs half of what the disk of the simulated system can do, and is by definition the whole disk."""
    half = {**TRUTH, "writer.large": mixsim.Truth(Fraction(30), mixsim.shares(disk="0.5", network="1"))}
    half["walker.small"] = mixsim.Truth(Fraction(50), mixsim.shares(disk="0.1"))
    found = measured(Simulated(half))
    shares = [one.value for name in ("writer.large", "walker.small") if (one := found[name].use["disk"])]
    assert shares == [1, Fraction(1, 5)]


def test_a_score_has_the_interval_of_its_seeds() -> None:
    score = measured(Simulated(TRUTH, noise=Fraction(1, 10)))["prime.small"].score
    assert score is not None
    assert (
        score.low == float(min(score.samples)) < float(score.value) < score.high == float(max(score.samples))
    )
    assert len(set(score.samples)) == 3


def test_a_resource_without_a_figure_has_a_reason() -> None:
    found = measured(Simulated(TRUTH, unread=("cache",)))
    assert found["walker.small"].use["cache"] is None
    assert found["walker.small"].missing["cache"] == "the kernel has no file for it"
    assert found["walker.small"].use["cpu"] is not None


def test_a_disk_that_nobody_calibrates_is_unavailable() -> None:
    text = mixsim.STUDY.replace("calibrate: {disk: writer.large, network: writer.large}\n", "")
    found = measured(Simulated(TRUTH), text)
    assert found["writer.large"].use["disk"] is None
    assert "no input calibrates it" in found["writer.large"].missing["disk"]


def test_an_input_without_a_valid_run_has_a_reason() -> None:
    fails = {f"alone-prime.small-s{seed}": "part prime.small#1 ended early" for seed in (1, 2, 3)}
    found = measured(Simulated(TRUTH, fails=fails))["prime.small"]
    assert found.score is None
    assert found.missing["score"] == "INVALID: part prime.small#1 ended early (runs/alone-prime.small-s1/1)"


def test_one_invalid_seed_leaves_the_others() -> None:
    found = measured(Simulated(TRUTH, fails={"alone-prime.small-s1": "it hung"}))["prime.small"]
    assert found.score is not None
    assert len(found.score.samples) == 2
