"""Groups of CPUs: joined by pairs, renumbered, and how far apart two CPUs are."""

from __future__ import annotations

from benchgate.host.memory.cpu_groups import distance, group_of, is_needed, joined, renamed

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
    found = [distance(pair, PAIRS, SOCKETS) for pair in ((0, 1), (0, 2), (0, 4))]
    assert found == ["cluster_ns", "across_ns", "socket_ns"]


def test_a_machine_needs_the_distances_that_two_of_its_cpus_have() -> None:
    keys = ("cluster_ns", "across_ns", "socket_ns")
    assert [is_needed(key, PAIRS, SOCKETS) for key in keys] == [True, True, True]
    assert [is_needed(key, ((0,), (1,)), ((0, 1),)) for key in keys] == [False, True, False]
    assert [is_needed(key, ((0,), (1,)), ((0,), (1,))) for key in keys] == [False, False, True]
