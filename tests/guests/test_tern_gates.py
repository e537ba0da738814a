"""Faults of tern that give right answers and only cost time: a speedup gate says FAIL, with the ratio.

The runs take a few milliseconds on the instruction clock. Every answer is verified, so only the gate detects
the fault. What detects the other faults is in test_tern_faults.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.gates import Gate
from benchgate.judge import verify
from benchgate.judge.arms import arm_of
from benchgate.judge.decide import decide
from benchgate.plan import catalog
from benchgate.run.record import load
from tests.line.sessions import Session, gated_tern


def test_a_speedup_gate_finds_dropped_ipis(dropped_ipis: Session) -> None:
    """No interrupt tells the second CPU that there is work, so the first does nearly all of it. With this
    fault every seed gives the same run (see the soak test below), so one run per arm is used five times."""
    workload, system = catalog.load_workload("tasks"), catalog.load_system("kernel:fault=drop-ipi")
    runs = [load(folder) for folder in sorted((dropped_ipis.folder / "runs").iterdir())]
    arms = []
    for cpus in (1, 2):
        (counted,) = (one for one in runs if one.cell.cpus == cpus and not one.warmup)
        good = verify.verify_on(counted, workload, system)
        five = [replace(good, run=replace(counted, attempt=seed, seed=seed)) for seed in range(1, 6)]
        arms.append(arm_of(counted.cell, five))
    one, two = (arm.cell for arm in arms)
    gate = Gate("scales", "speedup", one, two, at_least=1.6)
    (verdict,) = decide([gate], {arm.cell.id: arm for arm in arms}, catalog.load_policy("default")).verdicts
    assert (verdict.outcome, verdict.ratio) == ("FAIL", verdict.high), verdict.reason
    assert verdict.ratio is not None
    assert 1 < verdict.ratio < 1.5


def fails(where: Path, system: str) -> Session:
    session = gated_tern(where, system, "--runs=5")
    (verdict,) = session.verdicts
    assert (session.code, verdict["outcome"]) == (1, "FAIL"), session.output
    assert verdict["high"] < 1.5
    row = verdict["system"]
    assert f"FAIL: tasks.steps-4000-{row} smp2/smp1 = {verdict['ratio']:.2f} [" in session.output
    assert [session.outcomes(cpus, row) for cpus in (1, 2)] == [["ok"] * 5] * 2
    return session


@pytest.mark.soak
def test_with_dropped_ipis_every_seed_gives_the_same_time(tmp_path: Path) -> None:
    session = fails(tmp_path, "kernel:fault=drop-ipi")
    assert [len(set(session.work(cpus, "kernel.fault-drop-ipi"))) for cpus in (1, 2)] == [1, 1]


@pytest.mark.soak
def test_a_speedup_gate_finds_a_lock_held_too_long(tmp_path: Path) -> None:
    """Each step of 1 us holds the lock of the only queue for 20 us, so the second CPU waits for the first."""
    fails(tmp_path, "kernel:sched=global:fault=lock-hold")


@pytest.mark.soak
@pytest.mark.parametrize("system", ["kernel", "kernel:sched=global"])
def test_the_same_gate_passes_without_the_fault(tmp_path: Path, system: str) -> None:
    session = gated_tern(tmp_path, system, "--runs=5")
    (verdict,) = session.verdicts
    assert (session.code, verdict["outcome"]) == (0, "PASS"), session.output
