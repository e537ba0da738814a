"""`benchgate replay RUN --gdb` with a real gdb: it stops at a breakpoint; the run repeats the original."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import optional
from tests.line.sessions import CELLS, PATIENCE_S, Session, run_pytest, write_test

pytestmark = optional.needs("gdb")
SYSTEMS = {"kernel": "break *process_exit", "linux": "break *do_exit"}


def test_gdb_stops_a_replay_in_a_function_and_lets_it_end(dropped_ipis: Session, tmp_path: Path) -> None:
    stops_and_ends(dropped_ipis, tmp_path, "kernel")


@pytest.mark.soak
def test_gdb_stops_a_replay_of_linux(tmp_path: Path) -> None:
    write_test(tmp_path, CELLS, '"primes", hi=20000')
    session = run_pytest(tmp_path, "--clock=insn", "--smp=2", "--runs=1")
    assert session.code == 0, session.output
    stops_and_ends(session, tmp_path, "linux")


def stops_and_ends(session: Session, where: Path, system: str) -> None:
    run = sorted((session.folder / "runs").glob("*-smp2"))[-1]
    out = where / "again"
    argv = [sys.executable, "-m", "benchgate.cli", "replay", str(run), "--gdb", "--out", str(out)]
    with subprocess.Popen(
        argv, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as replay:
        try:
            gdb_output = debugged(replay, SYSTEMS[system])
            report, errors = replay.communicate(timeout=PATIENCE_S)
        finally:
            replay.kill()
    assert re.search(r"0x0*fff0 in \?\?", gdb_output), gdb_output  # the reset vector: nothing has run
    assert re.search(r"Breakpoint 1, (0x\w+ in )?(process_exit|do_exit)", gdb_output), gdb_output
    assert replay.returncode == 0, errors
    assert "every mark at the time of the original" in report or within_a_quantum(report), report
    assert not (out / "gdb.sock").exists()


def debugged(replay: subprocess.Popen[str], stop: str) -> str:
    """Starts gdb as the replay says, stops at a breakpoint and continues to the end. Returns gdb's output."""
    assert replay.stderr is not None
    deadline = time.monotonic() + PATIENCE_S
    for line in replay.stderr:
        if match := re.search(r"instruction; gdb (.*); Ctrl-C", line):
            break
        assert time.monotonic() < deadline
    else:
        pytest.fail("the replay ended before it stopped for the debugger")
    gdb = f"gdb -nx -batch {match[1]} -ex '{stop}' -ex continue -ex delete -ex continue"
    done = subprocess.run(
        gdb,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout


def within_a_quantum(report: str) -> bool:
    """gdb stopped both CPUs, and each may move by a quantum (docs/explanation/insn.md)."""
    match = re.search(r"work window (\d+) ns, (\d+) in the original", report)
    return match is not None and abs(int(match[1]) - int(match[2])) <= 2 * 5_000
