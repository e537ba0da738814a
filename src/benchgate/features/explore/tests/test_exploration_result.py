from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchgate.base.exploration import StallPoint
from benchgate.base.jsonfields import as_json, read
from benchgate.features.explore.exploration_result import (
    FOUND,
    OK,
    ExplorationAttempt,
    ExplorationResult,
    Find,
    RunLine,
    SmallFind,
    first_finds,
    first_runs,
    schedule,
)
from benchgate.features.explore.switch import Segment, Switch, SwitchSide
from benchgate.features.explore.trouble import TroubleKind

LINE = RunLine("row-smp2", 3, "sync", 3, OK, 1000, 2000, 50, 7, 300, 1.5, "")
SMALL = SmallFind(
    "row-smp2",
    3,
    (StallPoint(1, 50, 300),),
    7,
    42,
    "",
    (Switch(SwitchSide(1, "park+0x1c", "park+0x20"), 300, (SwitchSide(0, "unpark+0x10", "unpark+0x44"),)),),
    (Segment(0, 1, 2, "unpark"), Segment(1, 1, 2, "")),
)
FIND = Find(
    "find-1", "row-smp2", 3, "sync", 3, TroubleKind.HANG, "not finished", "hang", ("a",), ("b+0x1",), 9, SMALL
)


def test_lines_and_finds_are_read_back_as_they_were_written() -> None:
    assert read(RunLine, json.loads(json.dumps(as_json(LINE))), "a run") == LINE
    assert read(Find, json.loads(json.dumps(as_json(FIND))), "a find") == FIND
    bare = replace(FIND, small=None)
    assert read(Find, json.loads(json.dumps(as_json(bare))), "a find") == bare


def test_a_cell_is_unstalled_if_all_that_is_known_of_its_runs_is_that_no_stall_fell_into_them() -> None:
    none = replace(LINE, stalls=0)
    assert ExplorationResult((none,), expected=1).unstalled == ("row-smp2",)
    for other in (LINE, replace(none, number=0), replace(none, strategy="plain")):
        assert ExplorationResult((other,), expected=1).unstalled == ()
    assert ExplorationResult((none, replace(LINE, number=4)), expected=2).unstalled == ()
    assert ExplorationResult((none,), expected=2).unstalled == ()  # a stall may come yet
    unknown = replace(none, outcome=FOUND, find="find-1", steps=None)
    assert ExplorationResult((unknown,), expected=1).unstalled == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": "good"}, "outcome 'good' is not ok or find"),
        ({"find": "find-1"}, "outcome 'ok' and find 'find-1'"),
        ({"number": -1}, "number -1 is not a whole number"),
        ({"more": 1}, "unknown key 'more'"),
    ],
)
def test_a_strange_line_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(RunLine, {**as_json(LINE), **change}, "a run")


def test_groups_come_in_the_order_of_their_first_find() -> None:
    finds = tuple(replace(FIND, name=f"find-{n}", group=group) for n, group in enumerate("bab"))
    groups = ExplorationResult(finds=finds).groups
    assert [(name, [find.name for find in of]) for name, of in groups] == [
        ("b", ["find-0", "find-2"]),
        ("a", ["find-1"]),
    ]


def test_the_first_find_of_a_strategy_is_counted_in_its_own_runs() -> None:
    lines = [
        replace(LINE, number=n, strategy=strategy, outcome=FOUND if name else OK, find=name)
        for n, strategy, name in [
            (1, "sync", ""),
            (2, "pct", ""),
            (3, "sync", "find-1"),
            (4, "pct", ""),
            (5, "sync", "find-2"),
        ]
    ]
    assert first_finds(lines) == {("row-smp2", "sync"): 2}


def test_what_is_left_is_said_by_switches_else_by_the_note() -> None:
    assert SMALL.said == (SMALL.switches[0].sentence,)
    assert replace(SMALL, switches=(), note="why").said == ("why",)
    assert replace(SMALL, switches=(), points=()).said == ("it happens without any stall",)


def test_cells_take_turns_and_so_do_strategies() -> None:
    result = [(attempt.key, attempt.strategy) for attempt in schedule(["a", "b"], ["sync", "pct"], 3)]
    assert result == [
        ("a#1", "sync"),
        ("b#1", "sync"),
        ("a#2", "pct"),
        ("b#2", "pct"),
        ("a#3", "sync"),
        ("b#3", "sync"),
    ]


def test_more_runs_continue_the_same_list() -> None:
    few, many = [*schedule(["a"], ["sync", "pct"], 3)], [*schedule(["a"], ["sync", "pct"], 9)]
    assert many[:3] == few


def test_the_first_run_of_a_cell_is_plain_and_has_the_seed_of_run_1() -> None:
    assert [*first_runs(["a"])] == [ExplorationAttempt("a", 0, "plain", 1)]
    (attempt, *_) = schedule(["a"], ["plain"], 3)
    assert attempt == ExplorationAttempt("a", 1, "plain", 1)


def test_seeds_begin_where_the_user_says() -> None:
    assert [attempt.seed for attempt in schedule(["a"], ["pct"], 3, seed=501)] == [501, 502, 503]
    assert [first_run.seed for first_run in first_runs(["a"], 501)] == [501]
