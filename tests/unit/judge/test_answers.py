"""The checks that oracles share."""

from __future__ import annotations

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.judge import answers


def report(number: int, **values: int) -> WorkerReport:
    return WorkerReport(number, 0, 0, 1, 2, values)


@pytest.mark.parametrize(
    ("cuts", "reason"),
    [
        ([(0, 5), (6, 10)], "worker 1 had 6..10, but its range starts at 5"),
        ([(0, 5), (4, 10)], "worker 1 had 4..10"),
        ([(0, 12)], "worker 0 had 0..12"),
        ([(0, 5), (5, 4)], "worker 1 had 5..4"),
        ([(0, 5), (5, 9)], "end at 9, but the work ends at 10"),
    ],
)
def test_ranges_must_follow_each_other(cuts: list[tuple[int, int]], reason: str) -> None:
    with pytest.raises(VerifyError, match=reason):
        answers.ranges([report(n, lo=lo, hi=hi) for n, (lo, hi) in enumerate(cuts)], 0, 10)


def test_equal_cost_has_a_tolerance_and_a_grain() -> None:
    answers.equal_cost([report(0, divs=1019), report(1, divs=981)], "divs", grain=0)
    with pytest.raises(VerifyError, match="worker 0 had divs=1021"):
        answers.equal_cost([report(0, divs=1021), report(1, divs=979)], "divs", grain=0)
    answers.equal_cost([report(0, divs=1021), report(1, divs=979)], "divs", grain=21)
