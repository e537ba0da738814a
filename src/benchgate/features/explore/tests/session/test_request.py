from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.base.exploration import Exploration, Strategy
from benchgate.features.explore.session import request
from benchgate.features.explore.session.request import ExplorationRequest


def test_all_strategies_and_some() -> None:
    assert request.strategies("all") == ("plain", "sync", "pct", "anywhere", "interrupt")
    assert request.strategies("pct,plain") == ("pct", "plain")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("synk", "`synk` is none; did you mean `sync`"),
        ("points", "`points` is none"),
        ("", "name at least one"),
        ("pct,pct", "each once"),
    ],
)
def test_a_wrong_strategy_is_named(word: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        request.strategies(word)


def test_parameters_are_those_of_an_exploration() -> None:
    assert request.parameters(["depth=4", "longest_ns=20000"]) == {"depth": 4, "longest_ns": 20_000}
    with pytest.raises(UsageError, match=r"--with deep=4: did you mean `depth`"):
        request.parameters(["deep=4"])
    with pytest.raises(UsageError, match="--with depth=x: expected depth=NUMBER"):
        request.parameters(["depth=x"])


def test_a_run_gets_its_seed_its_steps_and_the_parameters() -> None:
    exploration = ExplorationRequest(parameters={"depth": 4}, window=True).exploration("pct", 7, 1000)
    assert (exploration.strategy, exploration.seed, exploration.depth, exploration.steps) == (
        Strategy.PCT,
        7,
        4,
        1000,
    )
    assert exploration.window
    assert ExplorationRequest(parameters={"reach": 5}).exploration("anywhere", 7, 0).reach == 5


def test_a_plain_run_has_no_stall_and_pct_without_steps_has_depth_1() -> None:
    assert ExplorationRequest(parameters={"depth": 4}).exploration("plain", 7, 1000) == Exploration(
        Strategy.POINTS
    )
    assert ExplorationRequest(parameters={"depth": 4}).exploration("pct", 7, 0).depth == 1


def test_a_parameter_out_of_range_is_a_sentence() -> None:
    with pytest.raises(UsageError, match=r"--with: depth 99 is not from 1 to 16"):
        ExplorationRequest(parameters={"depth": 99}).exploration("sync", 1, 10)


def test_only_what_changes_a_run_must_be_the_same() -> None:
    first = ExplorationRequest(paths=("a",), runs=10, jobs=1, stop_at_first=True)
    assert first.what == ExplorationRequest(paths=("a",), runs=20, jobs=2).what
    assert first.what != ExplorationRequest(paths=("b",)).what
    assert first.what != ExplorationRequest(paths=("a",), parameters={"depth": 4}).what
    assert first.what != ExplorationRequest(paths=("a",), start="cold").what


def test_a_cold_start_and_a_smoke_are_written_as_by_versions_that_knew_nothing_else() -> None:
    assert ExplorationRequest(paths=("a",)).what["start"] == "auto"
    assert "start" not in ExplorationRequest(paths=("a",), start="cold").what
    assert "start" not in ExplorationRequest(smoke=True).what


def test_the_path_of_a_test_is_made_absolute() -> None:
    assert request.placed("tests/smp", Path("/here")) == "/here/tests/smp"
    assert request.placed("tests/t.py::test_a[x::y]", Path("/here")) == "/here/tests/t.py::test_a[x::y]"
    assert request.placed("/abs/t.py", Path("/here")) == "/abs/t.py"
