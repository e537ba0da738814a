"""What planning knows of a scenario: the CPUs of its guest, and that its length is given."""

from __future__ import annotations

import pytest

from benchgate.base.errors import UsageError
from benchgate.plan import marks, planner
from benchgate.plan.marks import MarkArguments
from benchgate.plan.options import Options
from tests.unit.plan.test_marks import read_of_page
from tests.unit.plan.test_planner import INSN


def test_it_runs_with_the_cpus_of_its_guest_only() -> None:
    """Where a scenario says nothing of CPUs, its threads may run on all of them, so a guest with another
    number would contradict it."""
    limits = [MarkArguments((), {"cpus": cpus, "metric": "share", "at_least": 0.25}) for cpus in (2, 4)]
    one = marks.read(MarkArguments(("scenario-arrival",), {}), {"limit": limits})
    cells = planner.plan_cells(one, Options(), INSN)
    assert [(cell.cell.cpus, cell.skip) for cell in cells] == [(2, "")]
    cells = planner.plan_cells(one, Options(smp=(1, 2, 4)), INSN)
    other = "scenario-arrival is a scenario of a guest with 2 CPUs"
    assert [(cell.cell.cpus, cell.skip) for cell in cells] == [(1, other), (2, ""), (4, other)]
    gates = planner.plan_gates(one, Options(), INSN)
    assert [(gate.gate.cell.cpus, gate.skip) for gate in gates] == [(2, ""), (4, other)]


def test_no_gate_may_be_of_its_length() -> None:
    of_total = MarkArguments((), {"cpus": 2, "metric": "total", "at_most": 1})
    with pytest.raises(UsageError, match="workload scenario-sleepers runs for as long as its "):
        marks.read(MarkArguments(("scenario-sleepers",), {}), {"limit": [of_total]})


def test_the_gates_that_its_page_shows_are_accepted() -> None:
    assert read_of_page("docs/how-to/scenarios.md")
