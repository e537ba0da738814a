"""The row of a judged run."""

from __future__ import annotations

from benchgate.base.runs import Outcome
from benchgate.evidence.rows import row_of
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import cell, raw_run


def test_a_row_has_the_outcome_and_reason_of_its_run() -> None:
    wrong = JudgedRun(raw_run(cell(2)), None, "wrong answer")
    row = row_of(wrong)
    assert (row.outcome, row.reason, row.work, row.verified) == (Outcome.INVALID, "wrong answer", None, False)
