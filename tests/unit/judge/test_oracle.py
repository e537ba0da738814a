"""Loading oracles, and the checks that oracles share."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError, VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.judge import answers, oracle


def test_a_users_own_oracle_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from benchgate import VerifyError\n"
        "def check(params, reports, result):\n    raise VerifyError('seen')\n"
    )
    with pytest.raises(VerifyError, match="seen"):
        oracle.load(tmp_path / "mine.py")({}, [], {})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "defines no function check"),
        ("def check(:\n", "cannot be loaded"),
        ("import nosuch1\n", "nosuch1"),
        ("open('/nosuch')\n", "cannot be loaded: FileNotFoundError"),
    ],
)
def test_a_file_that_is_not_an_oracle_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(CatalogError, match=reason):
        oracle.load(tmp_path / "bad.py")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"there is no oracle file .*gone\.py"):
        oracle.load(tmp_path / "gone.py")


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
