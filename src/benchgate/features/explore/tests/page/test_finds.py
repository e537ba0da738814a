from __future__ import annotations

from dataclasses import replace

from benchgate.features.explore.exploration_result import FOUND, ExplorationResult
from benchgate.features.explore.page import finds
from benchgate.features.explore.tests.test_exploration_result import FIND, LINE
from benchgate.features.explore.trouble import TroubleKind

BAD = replace(LINE, number=4, strategy="pct", outcome=FOUND, find="find-1")
STATE = ExplorationResult((replace(LINE, number=0, strategy="plain"), LINE, BAD), (FIND,), expected=9)


def test_the_terminal_has_groups_commands_and_what_is_left() -> None:
    lines = finds.text(STATE, lambda name: f"replay {name}")
    assert lines == [
        "1 find, in 1 of 3 runs, of 9 asked for",
        "",
        "hang: in 1 run",
        "  replay find-1",
        "  find-1: not finished",
        "  find-1: 1 of 7 stalls left, after 42 runs",
        f"  find-1: {FIND.small.switches[0].sentence}" if FIND.small else "",
        "  row-smp2: seeds sync 3",
    ]


def test_one_defect_in_many_runs_is_one_find_with_their_seeds() -> None:
    """`unused-cpu` was told once per seed."""
    named = {"kind": TroubleKind.UNUSED, "group": "unused-cpu", "what": "vCPU 1 executed only 0"}
    unused = replace(FIND, **named, small=None)  # type: ignore[arg-type]
    some = tuple(replace(unused, name=f"find-{n}", number=n, seed=n) for n in (2, 3, 5))
    runs = tuple(replace(BAD, number=n, seed=n, find=f"find-{n}") for n in (2, 3, 5))
    text = finds.text(ExplorationResult((LINE, *runs), some, expected=4), lambda name: f"replay {name}")
    assert text == [
        "1 find, in 3 of 4 runs",
        "",
        "unused-cpu: in 3 runs",
        "  replay find-2",
        "  find-2: vCPU 1 executed only 0",
        "  row-smp2: seeds sync 2, sync 3, sync 5",
    ]


def test_the_first_run_is_of_no_strategy() -> None:
    assert finds.strategies(STATE).rows[1:] == (
        ("sync", "1", "0", "-", "7", "1.5"),
        ("pct", "1", "1", "1", "7", "1.5"),
    )


def test_a_find_in_a_smaller_cell_says_where() -> None:
    assert FIND.small is not None
    other = replace(FIND, small=replace(FIND.small, cell="row-smp1"))
    assert finds.small(other)[0] == "1 of 7 stalls left in row-smp1, after 42 runs"
    assert finds.small(replace(FIND, small=None)) == ()


def test_cells_without_a_stall_are_named_and_counted() -> None:
    none = tuple(replace(LINE, cell=f"row-{n}", stalls=0) for n in range(8))
    (said,) = finds.unexplored(ExplorationResult(none, expected=8))
    assert said.startswith("no run of row-0, row-1, row-2, row-3, row-4, row-5 and 2 more had a stall: ")
    assert finds.headline(ExplorationResult(none, expected=8)) == "nothing explored: 8 runs"
    result = ExplorationResult((none[0], LINE), expected=2)
    assert finds.headline(result) == "nothing found, and 1 of 2 cells was not explored: 2 runs"
    assert finds.unexplored(ExplorationResult((LINE,), expected=1)) == ()
