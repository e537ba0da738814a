"""The bookkeeping of a fleet's runs: the plan's order, a window, nothing lost and nothing twice."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from benchgate.features.fleet.answer import WorkerAnswer
from benchgate.features.fleet.assignments import MOST_LOSSES, Assignment, Assignments
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.packing import TaskPackage
from benchgate.features.fleet.received import CheckedAnswer
from benchgate.features.fleet.tests.tasks import task


def packed(key: str) -> TaskPackage:
    return TaskPackage(task(), b"", key, MappingProxyType({}))


def sent(assignments: Assignments, window: int, first: int = 1) -> list[str]:
    """What goes out now, by key."""
    result = []
    for number, assignment in enumerate(assignments.sendable(window), first):
        assignments.sent(assignment, number)
        result.append(assignment.want[0])
    return result


def answered(assignments: Assignments, number: int) -> Assignment:
    assignment = assignments.by_number(number)
    assert assignment is not None
    assignments.ended(assignment)
    assignment.answer = CheckedAnswer(WorkerAnswer("", "left", "host"), None)
    return assignment


def test_runs_go_out_in_the_plans_order_as_far_as_the_window_reaches() -> None:
    assignments = Assignments()
    for key in "abcde":
        assignments.want(packed(key), 0)
    assert sent(assignments, 3) == ["a", "b", "c"]
    assert sent(assignments, 3) == []
    second = answered(assignments, 2)
    assert sent(assignments, 3) == []  # it waits to be taken
    assignments.take(second)
    assert sent(assignments, 3, 4) == ["d"]


def test_the_same_task_is_made_once_for_each_copy() -> None:
    assignments = Assignments()
    assert assignments.want(packed("a"), 0) is assignments.want(packed("a"), 0)
    assert assignments.want(packed("a"), 1) is not assignments.want(packed("a"), 0)
    assert sent(assignments, 9) == ["a", "a"]


def test_an_answer_is_given_once() -> None:
    assignments = Assignments()
    assignments.want(packed("a"), 0)
    sent(assignments, 1)
    first = answered(assignments, 1)
    assignments.take(first)
    assert assignments.want(packed("a"), 0) is not first
    assert sent(assignments, 1, 2) == ["a"]  # asked for again, so made again


def test_a_lost_run_keeps_its_place() -> None:
    assignments = Assignments()
    for key in "abc":
        assignments.want(packed(key), 0)
    assert sent(assignments, 2) == ["a", "b"]
    lost = assignments.by_number(1)
    assert lost is not None
    assignments.lost(lost, "its worker died")
    assignments.again(lost)
    assert sent(assignments, 2, 3) == ["a"]
    assert assignments.by_number(1) is None


def test_a_run_that_is_lost_again_and_again_is_named() -> None:
    assignments = Assignments()
    assignment = assignments.want(packed("a"), 0)
    for _ in range(MOST_LOSSES):
        assignments.lost(assignment, "its worker died")
    with pytest.raises(FleetError, match=r"primes-linux-smp2, seed 1: lost 9 times.*its worker died"):
        assignments.lost(assignment, "its worker died")


def test_what_is_not_wanted_any_more_is_dropped() -> None:
    assignments = Assignments()
    for key in "abc":
        assignments.want(packed(key), 0)
    assert sent(assignments, 2) == ["a", "b"]
    assert assignments.keep_only([("b", 0)]) == [1]
    assert [assignment.want for assignment in assignments] == [("b", 0)]
    assert assignments.by_number(1) is None
    assert sent(assignments, 9, 5) == []
