"""The mark `regression`: its arguments, its place among the others, and what planning knows of its gates."""

from __future__ import annotations

import pytest

from benchgate.base.errors import UsageError
from benchgate.features.baseline.feature import BASELINE
from benchgate.plan import mark_table, marks
from benchgate.plan.marks import MarkArguments
from tests.unit.session.test_remarks import P99, notes

LOSS = {"cpus": 2, "at_most": 1.02}


@pytest.mark.parametrize("workload", ["schbench", "scenario"])
def test_it_is_not_of_a_length_that_is_given(workload: str) -> None:
    asked = {"regression": [MarkArguments((), {"at_most": 1.02})]}
    with pytest.raises(UsageError, match=rf"mark regression: workload {workload} runs for as long as its "):
        marks.read(MarkArguments((workload,), {}), asked)


def test_a_rate_that_may_not_become_worse_sees_idle_cpus() -> None:
    rate = ("regression", {**LOSS, "metric": "rps"})
    assert notes(P99, rate) == notes(rate, P99) == ()


def test_a_latency_that_may_not_become_worse_sees_none() -> None:
    assert len(notes(("regression", {**LOSS, "metric": "wakeup_p99"}))) == 1


def test_verdicts_of_one_test_are_in_the_order_in_which_they_always_were() -> None:
    names = [row.name for row in mark_table.TABLE]
    assert names[names.index("ratio") :][:3] == ["ratio", "regression", "scaling"]


def test_it_names_a_file_or_has_the_usual_one() -> None:
    def against(**given: object) -> str:
        asked = MarkArguments((), {"at_most": 1.02, **given})
        return marks.read(MarkArguments(("primes",), {}), {"regression": [asked]}).gates[0].against

    assert (against(), against(baseline="b/mine.json")) == (BASELINE.default, "b/mine.json")
    for wrong in ("mine.yaml", 3, "a\n.json"):
        with pytest.raises(UsageError, match=r"is not the path of a file such as .reports/baselines/main"):
            against(baseline=wrong)
