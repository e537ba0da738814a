"""Defects of tern that answer rightly and only cost time: a speedup gate says FAIL, with the ratio.

Sessions on the instruction clock, on a row of a few milliseconds. What else could have found the defect is
held to be silent: every answer is verified.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.line.sessions import Session, run_pytest

ROW = """\
import pytest

pytestmark = pytest.mark.threads


@pytest.mark.system("{system}")
@pytest.mark.workload("tasks", steps=4000)
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_scales(verdict):
    verdict.require_pass()
"""


def gated(where: Path, system: str) -> tuple[Session, dict[str, Any]]:
    file = where / "test_row.py"
    file.write_text(ROW.format(system=system))
    session = run_pytest(where, file, "--clock=insn", "--smp=1,2", "--runs=5")
    (verdict,) = session.verdicts
    return session, verdict


def fails(where: Path, system: str) -> None:
    session, verdict = gated(where, system)
    assert (session.code, verdict["outcome"]) == (1, "FAIL"), session.said
    assert verdict["high"] < 1.5
    row = verdict["system"]
    assert f"FAIL: tasks.steps-4000-{row} smp2/smp1 = {verdict['ratio']:.2f} [" in session.said
    assert [session.outcomes(cpus, row) for cpus in (1, 2)] == [["ok"] * 5] * 2


def test_a_speedup_gate_finds_dropped_ipis(tmp_path: Path) -> None:
    """Nobody tells the second CPU that there is work: the first does nearly all of it."""
    fails(tmp_path, "kernel:fault=drop-ipi")


@pytest.mark.soak
def test_a_speedup_gate_finds_a_lock_held_too_long(tmp_path: Path) -> None:
    """20 us in the one queue's lock for each step of 1 us: the second CPU waits for the first."""
    fails(tmp_path, "kernel:sched=global:fault=lock-hold")


@pytest.mark.soak
@pytest.mark.parametrize("system", ["kernel", "kernel:sched=global"])
def test_the_same_gate_passes_without_the_fault(tmp_path: Path, system: str) -> None:
    session, verdict = gated(tmp_path, system)
    assert (session.code, verdict["outcome"]) == (0, "PASS"), session.said
