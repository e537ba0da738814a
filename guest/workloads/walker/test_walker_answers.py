"""The oracle of walker, compared with one step at a time through a table of pointers."""

from __future__ import annotations

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.walker import oracle as walker
from tests.answerkit import folded, mixed, refuses_every_lie, reports_of

PARAMS: dict[str, ParamValue] = {"footprint_kb": 4, "steps": 200, "seed": 3}
LINES = 64


def pointers(seed: int) -> list[int]:
    """Sattolo's shuffle as its author gives it: each place is swapped with an earlier one."""
    after = list(range(LINES))
    for place in reversed(range(1, LINES)):
        other = mixed(seed * 2**32 + place) % place
        after[place], after[other] = after[other], after[place]
    return after


def rows(workers: int, after: list[int]) -> tuple[list[dict[str, int]], dict[str, int]]:
    result = []
    for k in range(workers):
        lo, hi = 200 * k // workers, 200 * (k + 1) // workers
        first = at = LINES * k // workers
        seen = []
        for _ in range(hi - lo):
            at = after[at]
            seen.append(at)
        row = {"lo": lo, "hi": hi, "first": first, "steps": hi - lo, "at": at, "digest": folded(seen)}
        result.append(row)
    return result, {"steps": 200, "digest": folded([row["digest"] for row in result])}


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_every_step_is_checked(workers: int) -> None:
    found, result = rows(workers, pointers(3))
    refuses_every_lie(lambda r, s: walker.check(PARAMS, r, s), reports_of(found), result)


def test_the_pointers_are_one_cycle_through_all_lines() -> None:
    assert sorted(walker.walk_order(LINES, 3).tolist()) == list(range(LINES))
    assert walker.walk_order(LINES, 3).tolist() != walker.walk_order(LINES, 4).tolist()


def test_another_table_is_refused() -> None:
    found, result = rows(2, pointers(4))
    with pytest.raises(VerifyError, match="worker 0 reported"):
        walker.check(PARAMS, reports_of(found), result)


def test_steps_to_the_neighbour_are_refused() -> None:
    found, result = rows(2, [(line + 1) % LINES for line in range(LINES)])
    with pytest.raises(VerifyError, match="worker 0 reported"):
        walker.check(PARAMS, reports_of(found), result)
