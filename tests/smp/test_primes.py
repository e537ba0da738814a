"""Independent worker processes count primes. The answer is known."""

import pytest

from benchgate import CellResult, VerdictResult

pytestmark = pytest.mark.smp


@pytest.mark.workload("primes", hi=3_000_000)
def test_every_run_is_right(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("primes", hi=3_000_000)
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.9)
@pytest.mark.speedup(cpus=4, at_least=3.0, insn=3.6)
def test_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.workload("primes", split="one")
@pytest.mark.speedup(cpus=2, at_most=1.1)
def test_one_worker_with_all_of_the_work_does_not_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


# Ranges of equal width differ in cost: the upper half of 2..3,000,000 needs 62% of the divisions, so two CPUs
# give at most 1.61x, whatever the kernel does.
@pytest.mark.history
@pytest.mark.workload("primes", split="width")
@pytest.mark.speedup(cpus=2, at_most=1.75)
def test_ranges_of_equal_width_scale_worse(verdict: VerdictResult) -> None:
    verdict.require_pass()
