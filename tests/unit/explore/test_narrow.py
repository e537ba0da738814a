from __future__ import annotations

import pytest

from benchgate.explore.narrow import farthest, least
from tests.unit.explore.searches import answered


@pytest.mark.parametrize("limit", [1, 2, 17, 500, 999, 1000])
def test_the_least_that_fails_is_found_to_a_thirty_second(limit: int) -> None:
    found, _ = answered(least(1000), lambda one: one >= limit)
    assert limit <= found <= limit + max(1, limit // 31)


def test_the_least_is_exact_with_enough_fineness() -> None:
    found, tried = answered(least(10**6, fineness=10**7), lambda one: one >= 123_457)
    assert found == 123_457
    assert tried <= 40


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 6, 100, 4095, 4096])
def test_the_farthest_that_fails_is_found_exactly(limit: int) -> None:
    found, tried = answered(farthest(4096), lambda one: one <= limit)
    assert found == limit
    assert tried <= 26


def test_nothing_moves_where_there_is_no_room() -> None:
    assert answered(farthest(0), lambda _: True) == (0, 0)


def test_everything_may_fail() -> None:
    assert answered(farthest(100), lambda _: True)[0] == 100
