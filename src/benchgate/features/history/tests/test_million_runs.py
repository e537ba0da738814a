"""The program that shows how one row is read out of many, with few."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.features.history.tests.entries import place
from benchgate.features.history.tests.test_writer import counts
from benchgate.features.history.tools import million_runs


def test_it_makes_as_many_runs_as_it_says_and_reads_one_row_by_its_index(tmp_path: Path) -> None:
    million_runs.fill(place(tmp_path), sessions=20, rows=10, runs=5)
    assert counts(place(tmp_path)) == {"sessions": 20, "series": 10, "points": 200, "runs": 1000}
    lines, is_direct = million_runs.answers(place(tmp_path))
    assert is_direct
    assert lines[0] == "1,000 runs, 10 rows, 20 sessions"
    assert [line.partition("CPU time: ")[2] for line in lines[1:4]] == [
        "find row0-linux-smp2",
        "its 20 points",
        "its 100 runs",
    ]
    assert "SEARCH benchgate_run USING PRIMARY KEY (series=?)" in lines


@pytest.mark.parametrize("line", ["SCAN benchgate_run", "  ->  Seq Scan on benchgate_run  (cost=0)"])
def test_a_plan_that_reads_every_row_is_found(line: str) -> None:
    assert not million_runs._is_direct("run", ["SEARCH benchgate_session", line])
    assert million_runs._is_direct("point", [line])
