"""The oracle of counters, compared with one turn at a time."""

from __future__ import annotations

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.counters import oracle as counters
from tests.answerkit import refuses_every_lie, reports_of, turned

STEPS = 12


def params(layout: str) -> dict[str, ParamValue]:
    return {"steps": STEPS, "delay": 5, "layout": layout}


def row(worker: int, lo: int, hi: int) -> dict[str, int]:
    return {"lo": lo, "hi": hi, "count": hi - lo, "own": turned(worker, (hi - lo) * 5)}


@pytest.mark.parametrize(("layout", "apart"), [("packed", 8), ("padded", 128)])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_every_counter_is_right_and_every_change_is_refused(layout: str, apart: int, workers: int) -> None:
    share = STEPS // workers
    rows = reports_of([row(k, k * share, (k + 1) * share) for k in range(workers)])
    result = {"sum": STEPS, "offset": 0, "apart": apart}
    refuses_every_lie(lambda r, s: counters.check(params(layout), r, s), rows, result)


def test_a_layout_other_than_the_one_asked_for_is_refused() -> None:
    result = {"sum": STEPS, "offset": 0, "apart": 128}
    with pytest.raises(VerifyError, match="the result reported apart=128"):
        counters.check(params("packed"), reports_of([row(0, 0, STEPS)]), result)


def test_a_layout_that_does_not_exist_is_refused() -> None:
    with pytest.raises(VerifyError, match="layout spread is not known"):
        counters.check(params("spread"), reports_of([row(0, 0, STEPS)]), {})


def test_an_increment_without_its_delay_is_refused() -> None:
    lazy = {**row(0, 0, STEPS), "own": turned(0, (STEPS - 1) * 5)}
    with pytest.raises(VerifyError, match="worker 0 reported own="):
        counters.check(params("packed"), reports_of([lazy]), {"sum": STEPS, "offset": 0, "apart": 8})
