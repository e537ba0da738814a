"""What is counted of an exploration: repetitions, each from one find to the next."""

from __future__ import annotations

import json
from pathlib import Path

from benchgate.base.jsonfields import as_json
from benchgate.features.explore.exploration_result import FOUND, OK, RunLine
from benchgate.features.explore.tools.faults import explored, explored_by, tally


def line(number: int, find: str = "") -> RunLine:
    outcome = FOUND if find else OK
    return RunLine("smoke", number, "sync", number, outcome, None, None, None, 3, 900, 0.5, find)


FINDS = {3: "find-1", 5: "find-2", 7: "find-3"}
LINES = [line(number, FINDS.get(number, "")) for number in (0, 1, 2, 4, 3, 5, 6, 7, 8)]
"""The lines in the order in which runs end, which is not that of their numbers."""


def test_a_repetition_ends_with_a_find() -> None:
    made = tally(LINES, 20)
    assert (made.runs, made.repetitions, made.without) == (8, (3, 2, 2), 1)
    assert made.row == ("8", "3", "2", "2", "3", "0.50", "3 of 3")


def test_a_path_is_of_the_tests_of_another_kernel(tmp_path: Path) -> None:
    assert explored_by("late-store") == ("late-store", ("--system=kernel:fault=late-store", "--smoke"))
    planted = tmp_path / "pid-unlocked"
    planted.mkdir()
    assert explored_by(str(planted)) == ("pid-unlocked", (str(planted),))
    assert explored_by(f"{planted}/test_mill.py") == ("pid-unlocked", (f"{planted}/test_mill.py",))


def test_what_comes_after_the_last_repetition_is_not_counted() -> None:
    made = tally(LINES, 2)
    assert (made.runs, made.repetitions, made.without) == (5, (3, 2), 0)


def test_nothing_was_found() -> None:
    made = tally([line(0), line(1), line(2)], 20)
    assert (made.runs, made.repetitions, made.without) == (2, (), 2)
    assert made.row == ("2", "0", "-", "-", "-", "0.50", "0 of 0")


def test_repetitions_that_took_too_long_or_came_to_no_find_are_not_within() -> None:
    late = [line(number, "find-1" if number == 501 else "") for number in range(1002)]
    assert tally(late, 20).within == "0 of 2"
    soon = [line(number, "find-1" if number == 500 else "") for number in range(1000)]
    assert tally(soon, 20).within == "1 of 1"


def test_a_line_that_an_interrupt_cut_is_left_out(tmp_path: Path) -> None:
    text = "".join(f"{json.dumps(as_json(line(number)))}\n" for number in (0, 1, 2))
    (tmp_path / "runs.jsonl").write_text(text[:-5])
    assert explored(tmp_path) == [line(0), line(1)]
    assert explored(tmp_path / "none yet") == []
