"""Sessions whose runs are forks, killed at any moment: nothing lives on, and what was measured is kept."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
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
SESSION = (
    *("-m", "pytest", "-p", "no:cacheprovider", "test_row.py", "--clock=insn", "--start=fork"),
    *("--smp=2", "--runs=25", "--reports=reports"),
)


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


def started(place: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    own = {"TMPDIR": str(place / "tmp"), "PYTHONPATH": str(REPO), "XDG_RUNTIME_DIR": str(place / "tmp")}
    with (place / "said").open("wb") as out:
        return subprocess.Popen(
            [sys.executable, *words], cwd=place, env={**os.environ, **own}, stdout=out, stderr=out
        )


def killed(place: Path, words: Sequence[str], number: signal.Signals) -> str:
    """What a Python with these words said, of which nothing is left but its runs."""
    (place / "tmp").mkdir()
    chance = random.Random(f"{words[0]} {number}")
    least = chance.randrange(1, 6)
    with started(place, words) as session:
        try:
            assert wait_until(lambda: whole(place) >= least or session.poll() is not None)
            time.sleep(chance.uniform(0, 0.3))
            assert any("qemu-system" in name_of(pid) for pid in living(place / "tmp"))
        finally:
            session.send_signal(number)
            session.wait()
    assert wait_until(lambda: living(place / "tmp") == []), living(place / "tmp")
    assert whole(place) >= least
    assert {raw.ending for raw in runs_of(place)} <= {Ending.DONE, Ending.INTERRUPTED}
    collect_temporaries()
    return (place / "said").read_text()


NUMBERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_session_that_is_killed_leaves_nothing_but_its_runs(number: signal.Signals, tmp_path: Path) -> None:
    light_tern(tmp_path)
    (tmp_path / "test_row.py").write_text(TEST)
    assert "Traceback" not in killed(tmp_path, SESSION, number)


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0]
    except OSError:
        return ""
