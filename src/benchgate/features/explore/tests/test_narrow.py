from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from benchgate.base.exploration import MOST_NS, StallPoint
from benchgate.features.explore.narrow import (
    ddmin,
    farthest,
    in_time,
    least,
    lengthened,
    listed,
    moved,
    probes,
)
from benchgate.features.explore.tests.searches import answered


@pytest.mark.parametrize("limit", [1, 2, 17, 500, 999, 1000])
def test_the_least_that_fails_is_found_to_a_thirty_second(limit: int) -> None:
    result, _ = answered(least(1000), lambda number: number >= limit)
    assert limit <= result <= limit + max(1, limit // 31)


def test_the_least_is_exact_with_enough_fineness() -> None:
    result, tried = answered(least(10**6, fineness=10**7), lambda number: number >= 123_457)
    assert result == 123_457
    assert tried <= 40


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 6, 100, 4095, 4096])
def test_the_farthest_that_fails_is_found_exactly(limit: int) -> None:
    result, tried = answered(farthest(4096), lambda number: number <= limit)
    assert result == limit
    assert tried <= 26


def test_nothing_moves_where_there_is_no_room() -> None:
    assert answered(farthest(0), lambda _: True) == (0, 0)


def test_everything_may_fail() -> None:
    assert answered(farthest(100), lambda _: True)[0] == 100


def minimal(items: Sequence[int], fails: Callable[[Sequence[int]], bool]) -> tuple[tuple[int, ...], int]:
    return answered(ddmin(items), fails)


@pytest.mark.parametrize("needed", [{5}, {0}, {63}, {5, 6}, {0, 63}, {1, 20, 40, 60}])
def test_what_is_needed_is_left_and_nothing_else(needed: set[int]) -> None:
    left, _ = minimal(range(64), lambda one: needed <= set(one))
    assert set(left) == needed


def test_one_of_many_takes_logarithmically_many_runs() -> None:
    left, tried = minimal(range(4096), lambda one: 4000 in one)
    assert left == (4000,)
    assert tried <= 1 + 2 * 12


def test_a_failure_without_anything_is_seen_at_once() -> None:
    assert minimal(range(100), lambda _: True) == ((), 1)


def test_nothing_stays_nothing() -> None:
    assert minimal((), lambda _: True) == ((), 0)


def test_the_order_is_kept() -> None:
    left, _ = minimal([9, 3, 7, 1], lambda one: {9, 1} <= set(one))
    assert left == (9, 1)


def test_what_is_left_is_one_minimal_for_random_failures() -> None:
    """Each element of what is left is needed, also if failing is not monotone."""
    for seed in range(50):
        rng = random.Random(seed)
        groups = [set(rng.sample(range(24), 3)) for _ in range(2)]

        def fails(one: Sequence[int], groups: list[set[int]] = groups) -> bool:
            return any(group <= set(one) for group in groups)

        left, _ = minimal(range(24), fails)
        assert fails(left)
        assert all(not fails([*left[:n], *left[n + 1 :]]) for n in range(len(left)))


def test_stalls_at_one_instruction_are_one() -> None:
    pieces = [
        StallPoint(1, 50, 7),
        StallPoint(0, 9, 1),
        StallPoint(1, 50, 3),
        StallPoint(0, 4, 2),
        StallPoint(0, 5, 0),
    ]
    assert in_time(pieces) == (StallPoint(1, 50, 10), StallPoint(0, 9, 1), StallPoint(0, 4, 2))


def test_a_sum_is_no_longer_than_a_file_allows() -> None:
    assert in_time([StallPoint(0, 1, MOST_NS), StallPoint(0, 1, 1)]) == (StallPoint(0, 1, MOST_NS),)


def test_a_moved_stall_is_listed_in_its_new_place() -> None:
    points = (StallPoint(0, 10, 1), StallPoint(0, 20, 2), StallPoint(1, 5, 3))
    assert moved(points, 0, 15) == (StallPoint(0, 20, 2), StallPoint(0, 25, 1), StallPoint(1, 5, 3))
    assert moved(points, 2, -5) == (StallPoint(0, 10, 1), StallPoint(0, 20, 2), StallPoint(1, 0, 3))
    assert moved(points, 2, -6) is None
    assert lengthened(points, 1, 9) == (StallPoint(0, 10, 1), StallPoint(0, 20, 9), StallPoint(1, 5, 3))


def test_probes_are_spread_over_the_instructions() -> None:
    assert probes([2], 0, 10, 4) == (
        StallPoint(2, 0, 0),
        StallPoint(2, 3, 0),
        StallPoint(2, 6, 0),
        StallPoint(2, 9, 0),
    )
    assert len(probes([0, 1], 100, 104, 4)) == 8
    assert listed([StallPoint(1, 1, 0), StallPoint(0, 9, 0)]) == (StallPoint(0, 9, 0), StallPoint(1, 1, 0))
