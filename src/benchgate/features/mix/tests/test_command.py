"""`benchgate mix`: every action, and that every error is one sentence with exit status 4."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.features.mix.session import steps
from benchgate.features.mix.tests import mixsim, paper
from benchgate.session.progress import Progress
from tests.unit.test_cli import home

__all__ = ["home"]


def test_mix_choose_prints_mixes_and_says_what_is_odd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors, sensitivity = paper.write(tmp_path)
    words = ["mix", "choose", "--vectors", str(vectors), "--sensitivity", str(sensitivity), "--json"]
    assert cli.main([*words, "--capacity", "disk=0.7", "--top", "2"]) == 0
    printed = capsys.readouterr()
    assert [load["mix"] for load in json.loads(printed.out)] == [
        {"game.1": 3, "webb.1": 1},
        {"game.1": 4},
    ]
    assert "v.csv:7: disk: antiv.N alone uses 80%" in printed.err


def test_mix_choose_says_which_application_has_no_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = paper.write(tmp_path, sensitivity=paper.SENSITIVITY + "webc,0.8,0.7,0.5,0.1,0.5\n")
    assert cli.main(["mix", "choose", "--vectors", str(both[0]), "--sensitivity", str(both[1])]) == 0
    assert "s.csv:5: application: webc has no input in the other table" in capsys.readouterr().err


def test_json_of_very_many_equal_mixes_is_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    vectors = "application,input,score,cpu,disk\n" + "".join(f"{text},1,1,0.02,0\n" for text in "abc")
    both = paper.write(
        tmp_path, vectors, "application,cpu,disk\n" + "".join(f"{text},1,0\n" for text in "abc")
    )
    words = ["mix", "choose", "--vectors", str(both[0]), "--sensitivity", str(both[1]), "--json"]
    assert cli.main(words) == 0
    assert [load["mix"] for load in json.loads(capfd.readouterr().out)] == [{"a.1": 50}]


def study_folder(place: Path, **capacity: Fraction) -> Path:
    """The folder that two commands leave, on a simulated system."""

    def opened(_: object) -> AbstractContextManager[mixsim.Simulated]:
        return nullcontext(mixsim.Simulated(mixsim.TRUTH))

    study = replace(
        mixsim.study(), seeds=1, limit_seeds=1, levels=(50,), resources=("cpu", "cache"), calibrate={}
    )
    study = replace(study, capacity=capacity)
    progress = Progress(StringIO(), live=False)
    steps.measure_vectors(study, place, opened, progress)
    steps.run_mixes(place, steps.MixRequest(best=1), opened, progress)
    return place


def test_mix_choose_refuses_a_score_that_does_not_rise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rising = paper.VECTORS.replace("game,N,0.75", "game,N,0.25")
    vectors, sensitivity = paper.write(tmp_path, rising)
    words = ["mix", "choose", "--vectors", str(vectors), "--sensitivity", str(sensitivity)]
    assert cli.main(words) == 4
    printed = capsys.readouterr()
    assert "v.csv:3: score: game.N uses more than game.1" in printed.err
    assert printed.out == ""


@pytest.mark.parametrize("plan", ["{}", "a study's"])
def test_a_plan_beside_a_table_does_not_make_it_a_measured_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], plan: str
) -> None:
    if plan == "{}":
        (tmp_path / "plan.json").write_text(plan)
    else:
        study_folder(tmp_path)
    vectors, sensitivity = paper.write(tmp_path, paper.VECTORS.replace("game,N,0.75", "game,N,0.25"))
    assert cli.main(["mix", "choose", "--vectors", str(vectors), "--sensitivity", str(sensitivity)]) == 4
    assert "v.csv:3: score: game.N uses more than game.1" in capsys.readouterr().err


def test_the_tables_of_a_study_are_its_own_until_they_are_edited(tmp_path: Path) -> None:
    from benchgate.features.mix.command import _of_a_study

    folder = study_folder(tmp_path)
    both = folder / "vectors.csv", folder / "sensitivity.csv"
    assert _of_a_study(*both)
    both[0].write_text(both[0].read_text() + "\n")
    assert not _of_a_study(*both)


def test_two_folders_of_one_study_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = study_folder(tmp_path)
    assert cli.main(["mix", "same", str(folder), str(folder)]) == 1  # the simulated runs have no clock's log
    printed = capsys.readouterr()
    assert "clock.log cannot be compared" in printed.err
    assert "vectors.csv" not in printed.err


def test_mix_of_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = study_folder(tmp_path)
    assert cli.main(["mix", "choose", "--study", str(folder)]) == 0
    assert "95%  75%    3 x prime.small 1 x walker.small" in capsys.readouterr().out
    assert cli.main(["mix", "report", str(folder)]) == 0
    assert f"report: {folder}/report.html" in capsys.readouterr().out
    assert cli.main(["mix", "run", str(folder), "--plan"]) == 0
    assert "runs alone, beside a dummy" in capsys.readouterr().out
    assert cli.main(["mix", "run", str(folder), "--plan", "--best", "2"]) == 0
    planned = capsys.readouterr().out
    assert "     0 of 1 run left: prime.small=3,walker.small=1\n     1 of 1 run left: " in planned
    assert "     1 runs left; " in planned
    assert cli.main(["mix", "run", str(folder), "--plan", "--mix", "walker.small=2"]) == 0
    assert "     1 of 1 run left: walker.small=2\n" in capsys.readouterr().out
    assert cli.main(["mix", "run", str(folder), "--plan", "--mix", "a.x=2"]) == 4
    assert "`a.x` is no input of the study" in capsys.readouterr().err


def test_mix_choose_uses_the_capacities_of_the_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["mix", "choose", "--study", str(study_folder(tmp_path, cpu=Fraction(1, 2)))]
    assert cli.main(words) == 0
    half = capsys.readouterr().out
    assert cli.main([*words, "--capacity", "cpu=1"]) == 0
    assert "95%  75%    3 x prime.small 1 x walker.small" in capsys.readouterr().out
    assert "95%" not in half


def test_mix_check_finds_a_run_without_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mix", "check", str(study_folder(tmp_path))]) == 1
    assert "alone-prime.large-s1: its files give no result: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["choose"], "give --vectors and --sensitivity, or --study"),
        (["report", "nowhere"], "nowhere is no folder; next: benchgate mix vectors STUDY.yaml --out nowhere"),
        (["run", ".", "--best", "1", "--mix", "a.b=1"], "give --mix or --best, not both"),
        (["same", ".", "nowhere"], "nowhere is no folder"),
        (["same", ".", "."], "have nothing in common; next: benchgate mix vectors"),
        (["vectors", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_a_wrong_mix_command(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mix", *words]) == 4
    assert said in capsys.readouterr().err


def test_mix_choose_refuses_a_wrong_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["mix", "choose", "--vectors", "v", "--sensitivity", "s", "--top", "0"])
    assert ended.value.code == 4
    assert "not a whole number from 1 to 100" in capsys.readouterr().err
