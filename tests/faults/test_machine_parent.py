"""However a session ends, no guest outlives it, and its attempt is on disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.base.runs import Ending
from benchgate.run.record import load
from benchgate.run.stale import runtime_folder, sweep_stale
from tests.machines import NONCE, PATIENCE_S, processes_with, wait_until

REPO = Path(__file__).parents[2]
MARK = f"benchgate-{NONCE},"
SESSION = """
    import sys
    from pathlib import Path
    from benchgate.run.attempt import execute
    from tests.machines import boot, request
    home = Path(sys.argv[1])
    execute(request(boot(home, sys.argv[2]), home / "run"), lambda phase: print(phase, flush=True))
"""


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def session(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A session whose guest runs and hangs."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SESSION), str(tmp_path), "hang-run"],
        env={**os.environ, "PYTHONPATH": f"{REPO / 'src'}:{REPO}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == "running":
                break
        else:
            pytest.fail(f"no guest ran: {process.communicate()[1]}")
        assert len(processes_with(MARK)) == 1
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_no_guest_outlives_its_session(
    session: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    session.send_signal(number)
    session.communicate(timeout=PATIENCE_S)
    assert wait_until(lambda: processes_with(MARK) == [])
    kept = load(tmp_path / "run")
    assert kept.ending is Ending.INTERRUPTED
    assert b"benchready" in (tmp_path / "run" / "serial.log").read_bytes()


STARTING = """
    import sys, threading
    from pathlib import Path
    from benchgate.base import process
    from benchgate.run.attempt import execute
    from tests.machines import boot, request

    home = Path(sys.argv[1])
    spec = boot(home)
    process._setpriv()  # asks a child of its own, before the interpreter is replaced
    sys.executable = str(home / "interpreter")
    work = threading.Thread(target=execute, args=(request(spec, home / "run"),))
    work.run() if sys.argv[2] == "main" else work.start()
"""
SLOW = "import time; time.sleep(6000)"


@pytest.mark.parametrize("thread", ["main", "other"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGUSR1])
def test_a_launcher_that_is_still_starting_dies_with_its_session(
    tmp_path: Path, number: signal.Signals, thread: str
) -> None:
    """Its interpreter takes long to start, as on a busy host, so launcher.py never gets to its own checks."""
    mark = f"{NONCE}-{tmp_path.name}"
    interpreter = tmp_path / "interpreter"
    interpreter.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S -c '{SLOW}' {mark}\n")
    interpreter.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(STARTING), str(tmp_path), thread],
        env={**os.environ, "PYTHONPATH": f"{REPO / 'src'}:{REPO}"},
        stderr=subprocess.DEVNULL,
    )
    try:
        assert wait_until(lambda: processes_with(mark) != [])
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == -number
        assert wait_until(lambda: processes_with(mark) == [])
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        for left in processes_with(mark):
            os.kill(left, signal.SIGKILL)


def test_a_killed_session_leaves_only_a_guest_record_which_the_sweep_removes(
    session: subprocess.Popen[str], runtime: Path
) -> None:
    session.kill()
    session.communicate(timeout=PATIENCE_S)
    assert wait_until(lambda: processes_with(MARK) == [])
    assert len(list(runtime_folder().iterdir())) == 1
    assert sweep_stale() == ()
    assert list(runtime.iterdir()) == []


def test_the_sweep_does_not_end_the_guest_of_a_running_session(session: subprocess.Popen[str]) -> None:
    assert sweep_stale() == ()
    assert len(processes_with(MARK)) == 1
    assert session.poll() is None
