"""The tests of which the golden session `gates` is made: as test_rows.py in a folder of its own, with
`pytest -q --clock insn --system kernel --runs 5 --reports FOLDER test_rows.py`. `micro` and `threads` are
rows of tests/micro and tests/threads; each session has its command in session.json."""

import pytest

from benchgate import VerdictResult


@pytest.mark.workload("counters", layout="packed", steps=2000)
@pytest.mark.machine("desktop8")
@pytest.mark.speedup(cpus=2, at_most=1.5)
@pytest.mark.efficiency(cpus=2, at_least=0.3)
@pytest.mark.overhead(cpus=2, at_most=20)
@pytest.mark.limit(cpus=2, metric="total", at_most="20ms")
@pytest.mark.scaling(model="amdahl", cpus=(1, 2, 4), at_most=0.9)
def test_counters(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.workload("tasks", grain=20, steps=2000)
@pytest.mark.work_conserving(cpus=2, at_most="50%")
def test_tasks(verdict: VerdictResult) -> None:
    verdict.require_pass()
