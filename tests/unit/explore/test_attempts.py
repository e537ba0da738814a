from __future__ import annotations

from benchgate.explore.attempts import ExplorationAttempt, first_runs, schedule


def test_cells_take_turns_and_so_do_strategies() -> None:
    found = [(one.key, one.strategy) for one in schedule(["a", "b"], ["sync", "pct"], 3)]
    assert found == [
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
    (one, *_) = schedule(["a"], ["plain"], 3)
    assert one == ExplorationAttempt("a", 1, "plain", 1)


def test_seeds_begin_where_the_user_says() -> None:
    assert [one.seed for one in schedule(["a"], ["pct"], 3, seed=501)] == [501, 502, 503]
    assert [one.seed for one in first_runs(["a"], 501)] == [501]
