"""A transcript against the machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.snapshots import SnapshotRecord
from benchgate.insn.log import ClockLog, VcpuTotals
from benchgate.judge.checks.transcript_checks import check_started


def log(*executed: int) -> ClockLog:
    totals = tuple(VcpuTotals(9000, number, 0, 0, 9000 - number, 0) for number in executed)
    return ClockLog(7, 5000, 100, 25, 2, (4, 4, 4), (), totals=totals)


def test_a_cpu_that_came_up_has_executed_something() -> None:
    check_started(log(9000, 1), None)
    check_started(log(), None)  # QEMU was killed before it wrote the totals
    with pytest.raises(VerifyError, match="the guest says that 2 CPUs came up, but vCPU 1 executed no inst"):
        check_started(log(9000, 0), None)


def test_of_a_warm_start_the_boot_before_it_tells_who_came_up() -> None:
    """A CPU may have nothing to run afterwards; one that came up later has run then."""
    boot = SnapshotRecord(400, 11, 1, {}, {})
    check_started(log(9000, 0), boot)
    check_started(log(9000, 1), replace(boot, unstarted=(1,)))
    with pytest.raises(VerifyError, match="2 CPUs came up, but vCPU 1 executed no instruction"):
        check_started(log(9000, 0), replace(boot, unstarted=(1,)))
