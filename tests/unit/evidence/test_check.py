"""What `verify` calls a contradiction, and what only another version wrote otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.evidence import metrics_csv
from benchgate.evidence.check import Differences, differences
from benchgate.evidence.session_folder import METRICS
from tests.unit.factories import cell, rows

DUE = metrics_csv.render([replace(row, steps=(("work", 10.0),)) for row in rows(cell(2), [460, 470])])


def found(stored: str, *, same_source: bool = False) -> Differences:
    return differences({METRICS: stored}, {METRICS: DUE}, same_source=same_source)


@pytest.mark.parametrize("version", [1, 2])
def test_metrics_without_later_columns_are_those_of_an_earlier_version(version: int) -> None:
    older = metrics_csv.as_of_version(version, DUE)
    assert found(older) == Differences((), (METRICS,))
    assert found(older, same_source=True) == Differences((METRICS,))


def test_a_figure_or_a_step_that_does_not_follow_is_a_contradiction() -> None:
    assert found(metrics_csv.as_of_version(1, DUE).replace(",460", ",459")) == Differences((METRICS,))
    assert found(DUE.replace(",460,10", ",460,0")) == Differences((METRICS,))
    assert found(DUE.replace(",guest", ",machine", 1)) == Differences((METRICS,))
