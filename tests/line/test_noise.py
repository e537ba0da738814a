"""A real neighbour takes a real guest's CPU: the run is void, and is made again.

At any load the outcomes must follow from the counters, which the tests compute by themselves from
threads.json. Only with the neighbour is it certain on which side of the limit they are.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.line.sessions import CELLS, Session, linux_with, run_benchgate, run_on_wall_time, write_test

LIMIT = 0.25
"""Three neighbours take three quarters of the CPU. On a quiet CPU a vCPU waits for less than a tenth."""
POLICY = f"""\
name: noise
looks: [5]
alpha: 0.0276
overall_error: 0.05
first: 5
max_runs: 5
warmups: 0
void: {{run_delay: {LIMIT}, steal: off, migrations: off, frequency: off, throttles: off}}
"""
NEIGHBOUR = """
import subprocess
import sys

from benchgate.session.measuring import MeasuringSession

CODE = "import os\\nos.sched_setaffinity(0, {{{cpu}}})\\nwhile os.getppid() == {{parent}}: pass"
attempts = MeasuringSession.attempts

def beside_neighbours(self, group):
    import os

    if group[0].order not in {orders}:
        yield from attempts(self, group)
        return
    code = CODE.replace("{{parent}}", str(os.getpid()))
    busy = [subprocess.Popen([sys.executable, "-I", "-c", code]) for _ in range(3)]
    try:
        yield from attempts(self, group)
    finally:
        for one in busy:
            one.kill()
            one.wait()

MeasuringSession.attempts = beside_neighbours
"""

pytestmark = pytest.mark.alone


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path


def measured(where: Path, orders: str) -> Session:
    cpu = max(os.sched_getaffinity(0))
    write_test(where, CELLS, '"primes", hi=500_000')
    (where / "conftest.py").write_text(NEIGHBOUR.format(cpu=cpu, orders=orders))
    (where / "noise.yaml").write_text(POLICY)
    patient = linux_with(where, "patient", "quiet")  # beside neighbours a boot can take minutes
    words = (f"--cpus={cpu}", "--smp=1", "--runs=1", f"--policy={where}/noise.yaml", f"--system={patient}")
    return run_on_wall_time(where, *words)


def waited(session: Session, row: dict[str, str]) -> float:
    """The share of the time in which the vCPU could run for which the host made it wait."""
    (folder,) = session.folder.glob(f"runs/{int(row['run']):04}-*")
    moments = {load["moment"]: load["threads"] for load in json.loads((folder / "threads.json").read_text())}
    (before,) = (moment for moment in moments["ready"] if moment["vcpu"] == 0)
    (after,) = (moment for moment in moments["result"] if moment["vcpu"] == 0)
    delay, run = (int(after[name]) - int(before[name]) for name in ("delay_ns", "run_ns"))
    return delay / (delay + run)


def check(session: Session) -> None:
    """Every outcome follows from the counters, and `verify` comes to the same."""
    for row in session.rows:
        assert row["outcome"] == ("void" if waited(session, row) > LIMIT else "ok"), session.output
        assert row["verified"] == "true"
    code, output = run_benchgate(session.folder, "verify", session.folder)
    assert code == 0, output


def test_a_run_beside_a_neighbour_is_void_and_made_again(where: Path) -> None:
    session = measured(where, orders="(1,)")
    check(session)
    first, *later = session.rows
    assert first["outcome"] == "void"
    assert later, "it was not made again"
    summary = " ".join((session.folder / "summary.md").read_text().split())
    assert "run 1, primes.hi-500000-patient-smp1, **void**: run delay " in summary
    junit = (session.folder / "junit.xml").read_text()
    assert f"{len([row for row in session.rows if row['outcome'] == 'void'])} of " in junit
    # On a loaded host the later runs may be disturbed, too; then nothing is decided.
    if later[-1]["outcome"] == "ok":
        assert session.code == 0, session.output
        assert [row["outcome"] for row in later].count("ok") == 1
    else:
        assert session.code == 75, session.output
        assert len(later) == 3


@pytest.mark.soak
def test_beside_a_lasting_neighbour_a_sweep_ends_without_a_decision(where: Path) -> None:
    session = measured(where, orders="range(100)")
    check(session)
    assert [row["outcome"] for row in session.rows] == ["void"] * 4
    assert session.code == 75, session.output
    assert "4 of 4 runs of this sweep are void" in " ".join(session.output.split())
