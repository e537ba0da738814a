"""Sessions whose runs are forks, killed at any moment: nothing lives on, and what was measured is kept."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchgate.base.runs import Ending, RawRun
from benchgate.build.cache_storage import collect_temporaries
from benchgate.run.forked import is_fork
from benchgate.run.record import load
from tests.line.sessions import REPO, light_tern
from tests.machines import wait_until

pytestmark = pytest.mark.long
TEST = """
import pytest


@pytest.mark.system("./kernel.yaml")
@pytest.mark.workload("primes", hi=20_000)
def test_every_run_is_right(cell):
    cell.require_verified()
"""
MIXES = """
import sys
from itertools import count
from pathlib import Path
from benchgate.base.snapshots import FORK
from benchgate.plan.options import Options
from benchgate.session.mix_study.booter import MixBooter
from tests.guests.test_fork_users import mix_of

with MixBooter(Options(clock="insn", start=FORK), print) as lab:
    for seed in count(1):
        folder = Path("reports", "runs", "mixes", "runs", str(seed))
        folder.mkdir(parents=True)
        assert lab.run(mix_of(disk=True), folder, seed=seed).reason == ""
"""
KINDS = {
    "session": (
        *("-m", "pytest", "-p", "no:cacheprovider", "test_row.py", "--clock=insn", "--start=fork"),
        *("--smp=2", "--runs=25", "--reports=reports"),
    ),
    "mixes": ("-c", MIXES),
}


def living(place: Path) -> list[int]:
    """All processes that were started with this folder for temporary files, and have not ended."""
    word = f"TMPDIR={place}\0".encode()
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and has(entry, word)]


def has(entry: Path, word: bytes) -> bool:
    try:
        return word in (entry / "environ").read_bytes() + b"\0"
    except OSError:
        return False


def runs_of(place: Path) -> list[RawRun]:
    return [load(path.parent) for path in place.glob("reports/runs/*/runs/*/run.json")]


def whole(place: Path) -> int:
    """How many forks have come to their end."""
    return sum(raw.ending is Ending.DONE and is_fork(raw.folder) for raw in runs_of(place))


def started(place: Path, kind: str) -> subprocess.Popen[bytes]:
    own = {"TMPDIR": str(place / "tmp"), "PYTHONPATH": str(REPO), "XDG_RUNTIME_DIR": str(place / "tmp")}
    with (place / "said").open("wb") as out:
        return subprocess.Popen(
            [sys.executable, *KINDS[kind]], cwd=place, env={**os.environ, **own}, stdout=out, stderr=out
        )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", KINDS)
def test_a_session_that_is_killed_leaves_nothing_but_its_runs(
    kind: str, number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "tmp").mkdir()
    light_tern(tmp_path)
    (tmp_path / "test_row.py").write_text(TEST)
    chance = random.Random(f"{kind} {number}")
    least = chance.randrange(1, 6)
    with started(tmp_path, kind) as session:
        try:
            assert wait_until(lambda: whole(tmp_path) >= least or session.poll() is not None)
            time.sleep(chance.uniform(0, 0.3))
            assert any("qemu-system" in name_of(pid) for pid in living(tmp_path / "tmp"))
        finally:
            session.send_signal(number)
            session.wait()
    assert wait_until(lambda: living(tmp_path / "tmp") == []), living(tmp_path / "tmp")
    assert whole(tmp_path) >= least
    assert {raw.ending for raw in runs_of(tmp_path)} <= {Ending.DONE, Ending.INTERRUPTED}
    collect_temporaries()
    assert kind == "mixes" or "Traceback" not in (tmp_path / "said").read_text()


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0]
    except OSError:
        return ""
