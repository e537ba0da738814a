"""What is counted of an exploration: repetitions, each from one find to the next."""

from __future__ import annotations

from benchgate.explore.explored import FOUND, OK, Line
from tools.explore_faults import tally


def line(number: int, find: str = "") -> Line:
    outcome = FOUND if find else OK
    return Line("smoke", number, "sync", number, outcome, None, None, None, 3, 900, 0.5, find)


FINDS = {3: "find-1", 5: "find-2", 7: "find-3"}
LINES = [line(number, FINDS.get(number, "")) for number in (0, 1, 2, 4, 3, 5, 6, 7, 8)]
"""As they end: not in order."""


def test_a_repetition_ends_with_a_find() -> None:
    made = tally(LINES, 20)
    assert (made.runs, made.repetitions, made.without) == (8, (3, 2, 2), 1)
    assert made.row == ("8", "3", "2", "2", "3", "0.50")


def test_what_comes_after_the_last_repetition_is_not_counted() -> None:
    made = tally(LINES, 2)
    assert (made.runs, made.repetitions, made.without) == (5, (3, 2), 0)


def test_nothing_was_found() -> None:
    made = tally([line(0), line(1), line(2)], 20)
    assert (made.runs, made.repetitions, made.without) == (2, (), 2)
    assert made.row == ("2", "0", "-", "-", "-", "0.50")
