"""schbench in whole sessions: a change of the scheduler as an exact difference of p99, equal histograms for
equal seeds, and a setting of the Linux guest (test_architectures.py has one that its kernel lacks)."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.line.sessions import Session, linux_with, run_pytest

GATED = """\
import pytest


@pytest.mark.system("kernel")
@pytest.mark.workload("schbench", threads=4)
@pytest.mark.ratio(to="kernel:sched=global", cpus=2, metric="wakeup_p99", at_least=20)
def test_a_woken_worker_does_not_wait(verdict):
    verdict.require_pass()
"""
RIGHT = """\
import pytest


@pytest.mark.system("{system}")
@pytest.mark.workload("schbench", time_ns=60_000_000)
def test_every_run_is_right(cell):
    cell.require_verified()
"""


def values(session: Session, system: str, metric: str) -> list[float]:
    """The values of an arm's samples, in the order of their seeds."""
    with (session.folder / "metrics.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if (row["system"], row["metric"]) == (system, metric)]
    return [float(row["value"]) for row in rows]


def histograms(session: Session, system: str) -> list[list[str]]:
    """The lines of each run that belong to histograms, without their numbers and checksums."""
    consoles = sorted(session.folder.glob(f"runs/*-{system}-smp2/serial.log"))
    return [re.findall(r"@bench ((?:hist|bucket) .*) seq=", path.read_text()) for path in consoles]


@pytest.mark.long
def test_a_change_of_the_scheduler_is_an_exact_difference(tmp_path: Path) -> None:
    """The first two runs of an arm have the same seed. wfq wakes within a few us; in the global queue a woken
    worker waits for the 0.7 ms for which another one computes."""
    (tmp_path / "test_row.py").write_text(GATED)
    session = run_pytest(tmp_path, "test_row.py", "--clock=insn", "--smp=2")
    assert session.code == 0, session.output
    for system in ("kernel", "kernel.sched-global"):
        first, again, *others = histograms(session, system)
        assert len(first) > 12
        assert first == again
        assert len(others) == 4
    assert max(values(session, "kernel", "wakeup_p99")) < 10_000
    assert min(values(session, "kernel.sched-global", "wakeup_p99")) > 500_000


def test_linux_is_right_and_takes_a_setting(tmp_path: Path) -> None:
    system = linux_with(tmp_path, "short", "bench.set=/sys/kernel/debug/sched/base_slice_ns:100000")
    (tmp_path / "test_short.py").write_text(RIGHT.format(system=f"{system}:start=warm"))
    session = run_pytest(tmp_path, "test_short.py", "--clock=insn", "--smp=2", "--runs=1")
    assert session.outcomes(2, "short.start-warm") == ["ok"], session.output
