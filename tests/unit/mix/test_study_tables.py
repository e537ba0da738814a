from __future__ import annotations

import csv
import io
from pathlib import Path

from benchgate.mix import files, isolation, sensitivity, study_tables, vectors
from tests import mixsim
from tests.mixsim import TRUTH, Simulated

MIX = {"prime.small": 2, "writer.large": 1}


def tables(system: Simulated) -> tuple[str, str, str, str]:
    study = mixsim.study()
    runs = mixsim.runs_of(study, system)
    found = vectors.compute(study, runs)
    sigmas = sensitivity.compute(study, runs, found)
    return (
        study_tables.vectors(study, found),
        study_tables.sensitivity(study, found, sigmas),
        study_tables.vector_intervals(study, found),
        study_tables.sensitivity_levels(sigmas),
    )


def test_the_tables_are_those_that_choose_reads(tmp_path: Path) -> None:
    for name, text in zip("vs", tables(Simulated(TRUTH)), strict=False):
        (tmp_path / name).write_text(text)
    found = files.read(tmp_path / "v", tmp_path / "s")
    assert [one.name for one in found.inputs] == [*TRUTH]
    assert found.inputs[0].score == 100
    assert float(found.sensitivity["writer"][found.resources.index("disk")]) == 0.8


def test_what_was_not_measured_is_not_in_the_tables(tmp_path: Path) -> None:
    fails = {f"alone-walker.small-s{seed}": 'it, the "part", hung' for seed in (1, 2, 3)}
    found = tables(Simulated(TRUTH, fails=fails, unread=("memory",)))
    assert "walker" not in found[0] + found[1]
    assert found[0].count(",unavailable,") == 3
    rows = {
        (row["application"], row["input"], row["figure"]): row
        for row in csv.DictReader(io.StringIO(found[2]))
    }
    assert 'it, the "part", hung' in rows["walker", "small", "score"]["missing"]
    assert rows["prime", "small", "memory"]["missing"] == "the kernel has no file for it"


def test_every_table_has_the_same_columns_in_every_row() -> None:
    study = mixsim.study()
    runs = mixsim.runs_of(study, Simulated(TRUTH), MIX)
    found = isolation.compute(study, runs, vectors.compute(study, runs), MIX)
    text = study_tables.isolation(
        [("best", found), ("near", isolation.MixIsolation("x", (), 0.0, (), "it, hung"))]
    )
    for table in (*tables(Simulated(TRUTH, unread=("cache",))), text):
        rows = [*csv.reader(io.StringIO(table))]
        assert len({len(row) for row in rows}) == 1, table
        assert len(rows) > 3
