"""The number of runs of a sweep, from which the time left is estimated."""

from __future__ import annotations

from benchgate.plan.options import Options
from benchgate.plan.planned import expected_runs
from tests.unit.factories import POLICY
from tests.unit.plans import sweep


def test_expected_runs_include_warm_ups_and_leave_out_skipped_cells() -> None:
    assert sorted(expected_runs(sweep(2, 4), Options(), POLICY).values()) == [5 + 1, 5 + 1]
