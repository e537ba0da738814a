"""Existing programs as workloads."""

from __future__ import annotations

import pytest

from benchgate import CellResult

pytestmark = pytest.mark.tools


@pytest.mark.workload("hackbench")
def test_hackbench(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("cyclictest")
def test_cyclictest(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("stress_ng")
def test_stress_ng(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("sysbench_cpu")
def test_sysbench_cpu(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("sysbench_threads")
def test_sysbench_threads(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.workload("perf_sched")
def test_perf_sched(cell: CellResult) -> None:
    cell.require_verified()
