"""Existing programs as workloads: they run on the Linux guest and natively, and skip where there is no Linux.

Of ours only stress-ng verifies its own work, so only its row is gated. The others say that they are
unverified; their figures are in the report for information.

Its operations need nothing of each other, so with 2 CPUs only its start, of about 23 ms, does not scale.
Measured on the instruction clock on 2026-11-23 (5 seeds, QEMU 10.0.2, default parameters), work over smp1:
1.98 [1.97, 1.98]. 1.9 leaves room for a start that is four times as long.
"""

import pytest

from benchgate import CellResult, VerdictResult

pytestmark = pytest.mark.tools


@pytest.mark.workload("hackbench")
def test_hackbench(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("cyclictest")
def test_cyclictest(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("stress_ng")
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.9)
def test_stress_ng_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.workload("sysbench_cpu")
def test_sysbench_cpu(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("sysbench_threads")
def test_sysbench_threads(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("perf_sched")
def test_perf_bench_sched(cell: CellResult) -> None:
    cell.require_verified()
