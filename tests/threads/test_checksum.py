"""Threads of one process hash blocks. The root does not depend on the number of threads."""

import pytest

from benchgate import CellResult, VerdictResult

pytestmark = pytest.mark.threads


@pytest.mark.workload("checksum")
def test_every_run_is_right(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("checksum")
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.9)
@pytest.mark.speedup(cpus=4, at_least=3.0, insn=3.6)
def test_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.workload("checksum", split="one")
@pytest.mark.speedup(cpus=2, at_most=1.1)
def test_one_thread_with_all_of_the_work_does_not_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()
