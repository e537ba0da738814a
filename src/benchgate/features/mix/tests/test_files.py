""""""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.features.mix import files, isolation, sensitivity, vectors
from benchgate.features.mix.tests import mixsim, paper
from benchgate.features.mix.tests.mixsim import TRUTH, Simulated


def test_both_tables_are_read(tmp_path: Path) -> None:
    applications = files.read(*paper.write(tmp_path))
    assert applications.resources == ("cpu", "cache", "mem", "disk", "network")
    assert [application_input.name for application_input in applications.inputs][:2] == ["game.1", "game.N"]
    assert applications.inputs[5].use[3] == Fraction(4, 5)
    assert applications.inputs[5].where.endswith("v.csv:7")
    assert applications.sensitivity["webb"][4] == Fraction(1, 2)


def test_the_order_of_resources_may_differ(tmp_path: Path) -> None:
    sensitivity = "application,disk,cpu\ngame,0.4,0.8\n"
    applications = files.read(
        *paper.write(tmp_path, "application,input,score,cpu,disk\ngame,1,1,0.5,0.1\n", sensitivity)
    )
    assert applications.sensitivity["game"] == (Fraction("0.8"), Fraction("0.4"))


@pytest.mark.parametrize("where", ["vectors", "sensitivity"])
def test_an_unavailable_figure_takes_its_resource_out(tmp_path: Path, where: str) -> None:
    vectors = paper.VECTORS.replace("0.1,0.1\n", "unavailable,0.1\n") if where == "vectors" else paper.VECTORS
    sensitivity = paper.SENSITIVITY
    if where == "sensitivity":
        sensitivity = sensitivity.replace("0.4,0.1", "unavailable,0.1")
    applications = files.read(*paper.write(tmp_path, vectors, sensitivity))
    assert applications.unavailable == ("disk",)
    assert applications.resources == ("cpu", "cache", "mem", "network")
    assert all(len(application_input.use) == 4 for application_input in applications.inputs)


HEAD = "application,input,score,cpu\n"


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (HEAD + "game,1,1,0.5\ngame,1,1,0.6\n", "v.csv:3: application: `game.1` is already on line 2"),
        (HEAD + "game,1,1,-0.5\n", "v.csv:2: cpu: `-0.5` is not a number"),
        (HEAD + "game,1,1,nan\n", "v.csv:2: cpu: `nan` is not a number"),
        (HEAD + "game,1,1,1e999\n", "v.csv:2: cpu: `1e999` is not a number"),
        (HEAD + "game,1,,0.5\n", "v.csv:2: score: `` is not a number"),
        (HEAD + "game,1,unavailable,0.5\n", "v.csv:2: score: `unavailable` is no score"),
        (HEAD + "game,1,1\n", "v.csv:2: 3 fields, but 4 columns"),
        (HEAD + "other,1,1,0.5\n", "v.csv:2: application: `other` has no line in"),
        (HEAD + "ga me,1,1,0.5\n", "v.csv:2: application: `ga me` is not a name"),
        (HEAD + "game,1,1,1e999999999\n", "v.csv:2: cpu: `1e999999999` is not a number"),
        (HEAD + "game,1,1,unavailable\n", "v.csv:1: no resource is available for every input"),
        (HEAD, "v.csv:1: there is no line below"),
        ("input,application,score,cpu\n", "v.csv:1: the first line must begin with application,input,score"),
        ("application,input,score\ngame,1,1\n", "v.csv:1: there is no column for a resource"),
        ("application,input,score,cpu,cpu\n", "v.csv:1: `cpu` is no name of a column, or is there twice"),
        (HEAD + 'game,1,1,"0.5\n', "v.csv:2: "),
        ("", "v.csv:1: the first line must begin with"),
    ],
)
def test_a_wrong_table_is_refused_by_line_and_column(tmp_path: Path, vectors: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        files.read(*paper.write(tmp_path, vectors, "application,cpu\ngame,0.5\n"))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("sensitivity", "said"),
    [
        ("application,cpu\ngame,1.01\n", "s.csv:2: cpu: `1.01` is not a number from 0 to 1"),
        ("application,cpu\ngame,0.5\ngame,0.5\n", "s.csv:3: application: `game` is already on line 2"),
        (
            "application,disk\ngame,0.5\n",
            "s.csv:1: both files must have the same resources, but not: cpu, disk",
        ),
    ],
)
def test_wrong_sensitivities_are_refused(tmp_path: Path, sensitivity: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        files.read(*paper.write(tmp_path, HEAD + "game,1,1,0.5\n", sensitivity))
    assert said in str(refused.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    vectors, sensitivity = paper.write(tmp_path)
    with pytest.raises(UsageError, match=r"none\.csv: cannot be read: No such file"):
        files.read(tmp_path / "none.csv", sensitivity)
    vectors.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        files.read(vectors, sensitivity)
    vectors.write_bytes(b"a" * (files.MOST_BYTES + 1))
    with pytest.raises(UsageError, match="is longer than"):
        files.read(vectors, sensitivity)


def test_figures_as_other_programs_write_them(tmp_path: Path) -> None:
    text = "\ufeffapplication,input,score,cpu\ngame,1,12345678901.5,0.00012344155042587335\ngame,2,1e+16,.5\n"
    applications = files.read(*paper.write(tmp_path, text, "\ufeffapplication,cpu\ngame,1e+0\n"))
    assert [application_input.score for application_input in applications.inputs] == [
        Fraction("12345678901.5"),
        Fraction(10**16),
    ]
    assert [application_input.use[0] for application_input in applications.inputs] == [
        Fraction("0.00012344155042587335"),
        Fraction(1, 2),
    ]


def test_capacities() -> None:
    assert files.capacities(["disk=0.8", "cpu=1/3"], ("cpu", "disk")) == {
        "disk": Fraction(4, 5),
        "cpu": Fraction(1, 3),
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dsk=1"], "there is no resource `dsk`; known: cpu, disk"),
        (["disk=1", "disk=2"], "disk is given twice"),
        (["disk=all"], "`all` is not a number"),
        (["disk=1e999999999"], "`1e999999999` is not a number"),
        (["disk=-1"], "`-1` is not a number"),
        (["disk"], "`` is not a number"),
    ],
)
def test_a_wrong_capacity_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        files.capacities(words, ("cpu", "disk"))
    assert said in str(refused.value)


MIX = {"prime.small": 2, "writer.large": 1}


def tables(system: Simulated) -> tuple[str, str, str, str]:
    study = mixsim.study()
    runs = mixsim.runs_of(study, system)
    result = vectors.compute(study, runs)
    sigmas = sensitivity.compute(study, runs, result)
    return (
        files.vectors_csv(study, result),
        files.sensitivity_csv(study, result, sigmas),
        files.vector_intervals_csv(study, result),
        files.sensitivity_levels_csv(sigmas),
    )


def test_the_tables_are_those_that_choose_reads(tmp_path: Path) -> None:
    for name, text in zip("vs", tables(Simulated(TRUTH)), strict=False):
        (tmp_path / name).write_text(text)
    applications = files.read(tmp_path / "v", tmp_path / "s")
    assert [application_input.name for application_input in applications.inputs] == [*TRUTH]
    assert applications.inputs[0].score == 100
    assert float(applications.sensitivity["writer"][applications.resources.index("disk")]) == 0.8


def test_what_was_not_measured_is_not_in_the_tables(tmp_path: Path) -> None:
    fails = {f"alone-walker.small-s{seed}": 'it, the "part", hung' for seed in (1, 2, 3)}
    result = tables(Simulated(TRUTH, fails=fails, unread=("memory",)))
    assert "walker" not in result[0] + result[1]
    assert result[0].count(",unavailable,") == 3
    rows = {
        (row["application"], row["input"], row["figure"]): row
        for row in csv.DictReader(io.StringIO(result[2]))
    }
    assert 'it, the "part", hung' in rows["walker", "small", "score"]["missing"]
    assert rows["prime", "small", "memory"]["missing"] == "the kernel has no file for it"


def test_every_table_has_the_same_columns_in_every_row() -> None:
    study = mixsim.study()
    runs = mixsim.runs_of(study, Simulated(TRUTH), MIX)
    mix_isolation = isolation.compute(study, runs, vectors.compute(study, runs), MIX)
    text = files.isolation_csv(
        [("best", mix_isolation), ("near", isolation.MixIsolation("x", (), 0.0, (), "it, hung"))]
    )
    for table in (*tables(Simulated(TRUTH, unread=("cache",))), text):
        rows = [*csv.reader(io.StringIO(table))]
        assert len({len(row) for row in rows}) == 1, table
        assert len(rows) > 3
