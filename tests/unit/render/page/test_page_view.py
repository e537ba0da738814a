"""What all parts of the page share: figures computed once, rows, looks, room."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from benchgate.base.gates import Word
from benchgate.base.statistics import stats
from benchgate.base.statistics.stats import Interval
from benchgate.judge.gates.wording import not_run, verdict
from benchgate.render.page.page import session_page
from benchgate.render.page.page_view import narrowed, page_view
from tests.pageviews import wide_view
from tests.unit.factories import arm, cell, scaled_view, speedup, view

WIDE = page_view(wide_view(3, 2, 2))


def test_a_row_has_its_systems_verdicts_and_word() -> None:
    rows = WIDE.rows
    assert [row.name for row in rows] == ["primes", "primes.split-one", "pipe"]
    assert [row.is_control for row in rows] == [False, True, False]
    assert rows[0].places == ("linux, insn", "kernel, insn")
    assert [row.worst for row in rows] == [Word.PASS] * 3
    assert [len(row.thresholds) for row in rows] == [2, 2, 2]


def test_a_row_that_did_not_run_comes_last_and_is_named_by_its_gates() -> None:
    left_out = arm(cell(2, workload="pipe"), skipped="no such program")
    gate = replace(speedup(), id="pipe.x-linux-smp2", cell=left_out.cell, base=None)
    one = verdict(gate, Word.SKIP, not_run(left_out), {})
    ran = scaled_view()
    rows = page_view(replace(ran, verdicts=(*ran.verdicts, one))).rows
    assert [row.name for row in rows] == ["primes", "pipe.x"]
    assert (rows[1].series, rows[1].worst) == ((), Word.SKIP)


def test_a_part_keeps_colours_and_has_only_its_own_cells() -> None:
    row = WIDE.rows[1]
    part = narrowed(WIDE, row, 0.5)
    assert part.looks == WIDE.looks
    assert part.every == WIDE.every
    assert {run_row.cell.label for run_row in part.view.rows} == {row.name} or {
        run_row.cell.workload for run_row in part.view.rows
    } == {row.name}
    assert len(part.view.timelines) == len(WIDE.view.timelines) / 3
    assert len(part.view.attributions or ()) == 4


def test_pieces_take_no_more_than_their_share() -> None:
    half = replace(WIDE, share=0.5)
    pieces = [("a", "x" * 40), ("b", "y" * 20), ("c", "z" * 5)]
    assert half.fitting(pieces, 100) == (["x" * 40], ["b", "c"])
    assert WIDE.fitting(pieces, 100) == (["x" * 40, "y" * 20, "z" * 5], [])


def test_every_interval_is_computed_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bootstraps are most of the time that a page takes."""
    given, made = wide_view(3, 2, 2), Counter[str]()
    real = stats.ratio_interval

    def seen(*of: Any) -> Interval:
        made["intervals"] += 1
        return real(*of)

    monkeypatch.setattr(stats, "ratio_interval", seen)
    session_page(given)
    assert 0 < made["intervals"] <= 2 * 3 * 2 * 2  # two for each arm


def test_paths_of_a_verdict_are_those_of_the_page() -> None:
    page = page_view(view())
    said = page.rooted(
        "see runs/0003-a-smp1/serial.log; next: benchgate baseline accept SESSION --out b.json"
    )
    home = "reports/runs/20260102T030405Z-abcdef"
    assert (
        said == f"see {home}/runs/0003-a-smp1/serial.log; next: benchgate baseline accept {home} --out b.json"
    )
