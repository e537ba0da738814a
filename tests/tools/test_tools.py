"""Existing programs as workloads: they run on the Linux guest and natively, and skip where there is no Linux.

Of ours only stress-ng verifies its own work, so only its row is gated. The others say that they are unverified;
their figures are in the report for information.

stress-ng at 2 CPUs on the instruction clock (2026-11-23, 5 seeds, QEMU 10.0.2, default parameters): {measured}.
What does not scale is its start: it loads 25 libraries and measures the clock before its first operation. 1.6
leaves that room on a slow disk cache, too.
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
@pytest.mark.speedup(cpus=2, at_least=1.6)
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
