from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache

from benchgate.features.mix import outcome
from benchgate.features.mix.outcome import StudyOutcome
from benchgate.features.mix.page import study_tables as study
from benchgate.features.mix.page import study_tables as tables
from benchgate.features.mix.programme import ApplicationInput, MixChoice
from benchgate.features.mix.selection import MixPlan, Robustness
from benchgate.features.mix.tests import mixsim
from benchgate.features.mix.tests.mixsim import TRUTH, Simulated

BEST = {"prime.small": 2, "writer.large": 1, "walker.small": 1}
MORE = {"prime.large": 4}


@cache
def found() -> StudyOutcome:
    """The walker loses a tenth in company; one mix uses twice the CPUs; one was never run."""
    study = mixsim.study()
    runs = mixsim.runs_of(study, Simulated(TRUTH, starves={"walker.small": Fraction(1, 10)}), BEST, MORE)
    planned = (
        MixPlan(BEST, ("best", "near", "scaling prime.small")),
        MixPlan(MORE, ("overcommit 1.5", "near")),
        MixPlan({"prime.small": 1}, ("near",)),
    )
    return outcome.conclude(study, runs, outcome.known(study, runs), None, planned, ("no table",))


def grid(title: str) -> list[tuple[str, ...]]:
    (one,) = [one for one in tables.grids(found()) if one.title.startswith(title)]
    return [tuple(row) for row in one.rows]


def test_what_each_input_uses() -> None:
    rows = grid("what each input uses")
    assert rows[0] == ("alone", "score", "cpu", "cache", "bandwidth", "memory", "disk", "network")
    assert rows[4] == ("walker.small", "50", "20%", "75%", "40%", "20%", "0%", "0%")


def test_sensitivities_have_their_interval() -> None:
    assert grid("how much each score")[3][1] == "0.50 [0.50, 0.50]"


def test_mixes_name_who_loses_most() -> None:
    rows = grid("mixes that ran")
    assert rows[1][2:6] == ("0.900", "walker.small#1 +10.0%", "+1.8%", "0%")
    assert rows[2][2:4] == ("0.500", "prime.large#1 +50.0%")
    assert rows[3][2] == "it was not run yet"


def test_use_of_the_mix_against_its_parts() -> None:
    assert ("cpu", "80%", "80%", "+0.0%") in grid("the best mix: use")


def test_scaling_and_sweep() -> None:
    assert grid("scaling of prime")[1][:4] == ("prime.small", "100", "100", "+0.0%")
    assert grid("scaling of prime")[2][-1] == "no mix has it"
    assert grid("sweep over CPUs")[1][:4] == ("1", "100", "100", "+0.0%")
    assert grid("the best mix for each capacity")[1][:3] == ("1.5", "4 x prime.large", "0.500")


def test_all_of_it_as_text() -> None:
    text = "\n".join(tables.text(found()))
    assert re.search("validity: FAIL: .* 2 near-optimal mixes .* 28%", text)
    assert "robustness" not in text  # nothing was solved


def test_a_lower_limit_is_not_rounded_up() -> None:
    """0.9966 is not at least 100%; 1 is."""
    drawn = Robustness(draws=100, chosen=(("a.b=1", 86), ("c.d=1", 14)), same=0.86, fits=1.0, least=0.9966)
    told = tables.robustness_told(replace(found(), robustness=drawn))
    assert told is not None
    assert told.endswith("in 100% of them, and there has at least 99.6% of the best objective")
    for least, wanted in ((1.0, "at least 100% of"), (0.9996, "at least 99.9% of"), (0.0, "at least 0% of")):
        assert wanted in str(tables.robustness_told(replace(found(), robustness=replace(drawn, least=least))))


GAME = ApplicationInput("game", "1", Fraction(1), (Fraction("0.3"), Fraction(1, 10)), "v.csv:2")
SCAN = ApplicationInput("scan", "N", Fraction(1), (Fraction(0), Fraction("0.4")), "v.csv:3")
MIX = MixChoice(((GAME, 2), (SCAN, 1)), Fraction("0.625"), (Fraction("0.6"), Fraction("0.6")))


def test_json_has_objective_mix_and_totals() -> None:
    assert json.loads(study.mixes_json([MIX], ("cpu", "disk"))) == [
        {"objective": 0.625, "mix": {"game.1": 2, "scan.N": 1}, "totals": {"cpu": 0.6, "disk": 0.6}}
    ]


def test_the_table_has_a_line_for_each_mix() -> None:
    heading, _, line = study.mixes_text([MIX], ("cpu", "disk"))
    assert heading.split() == ["objective", "cpu", "disk", "mix"]
    assert line.split() == ["0.625", "60%", "60%", "2", "x", "game.1", "1", "x", "scan.N"]
