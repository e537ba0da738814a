"""Figures with their basis, and how they are worded."""

from __future__ import annotations

import pytest

from contrib.calibration.known import (
    Basis,
    DraftFigure,
    distance,
    group_of,
    is_needed,
    joined,
    range_text,
    renamed,
    size_text,
)
from contrib.calibration.tests.curves import KIB, MIB


@pytest.mark.parametrize(("value", "ns"), [(0.2, 1), (1.4, 1), (13.6, 14)])
def test_a_file_has_whole_nanoseconds_and_at_least_one(value: float, ns: int) -> None:
    assert DraftFigure(value, Basis.MEASURED, "").ns == ns


def test_sizes_and_ranges_have_no_more_digits_than_they_need() -> None:
    assert [size_text(size) for size in (2 * MIB, 1536 * KIB, 512)] == ["2 MiB", "1536 KiB", "0.5 KiB"]
    assert (range_text([3.04, 3.01]), range_text([7.2, 3.0])) == ("3.0 ns", "3.0 to 7.2 ns")


PAIRS = ((0, 1), (2, 3), (4, 5))
SOCKETS = ((0, 1, 2, 3), (4, 5))


def test_a_pair_joins_the_groups_of_both_and_no_other() -> None:
    assert joined(PAIRS, [(1, 4)]) == [(0, 1, 4, 5), (2, 3)]
    assert joined(PAIRS, [(0, 2), (3, 5)]) == [(0, 1, 2, 3, 4, 5)]
    assert joined(PAIRS, [(0, 1)]) == list(PAIRS)


def test_a_cpu_of_no_group_is_alone() -> None:
    assert (group_of(PAIRS, 3), group_of(PAIRS, 9)) == ((2, 3), (9,))


def test_groups_are_renumbered_by_the_order_of_their_cpus() -> None:
    assert renamed(((8, 2), (4,)), (2, 4, 8)) == ((0, 2), (1,))


def test_the_distance_of_two_cpus_is_the_smallest_group_that_has_both() -> None:
    result = [distance(pair, PAIRS, SOCKETS) for pair in ((0, 1), (0, 2), (0, 4))]
    assert result == ["cluster_ns", "across_ns", "socket_ns"]


def test_a_machine_needs_the_distances_that_two_of_its_cpus_have() -> None:
    keys = ("cluster_ns", "across_ns", "socket_ns")
    assert [is_needed(key, PAIRS, SOCKETS) for key in keys] == [True, True, True]
    assert [is_needed(key, ((0,), (1,)), ((0, 1),)) for key in keys] == [False, True, False]
    assert [is_needed(key, ((0,), (1,)), ((0,), (1,))) for key in keys] == [False, False, True]
