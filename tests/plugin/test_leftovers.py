"""A guest that a killed session left running is ended and reported before the next session measures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from benchgate.base.process import start_time
from benchgate.run.stale import Record
from tests.machines import PATIENCE_S, wait_until
from tests.plugin.conftest import Rig

MARK = "0123456789abcdef"


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def leftover(runtime: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with a guest's mark in its command line, recorded for a session that has ended."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(6000)", f"benchgate-{MARK}"])
    try:
        # Between fork and exec the child still has this test's command line.
        assert wait_until(lambda: MARK.encode() in Path(f"/proc/{child.pid}/cmdline").read_bytes())
        session = subprocess.Popen(["true"])
        session.wait(timeout=PATIENCE_S)
        started = start_time(child.pid)
        assert started is not None
        record = Record(MARK, child.pid, started, session.pid, 1)
        folder = runtime / f"benchgate-{os.getuid()}"
        folder.mkdir(mode=0o700)
        (folder / f"guest-{child.pid}-{started}.json").write_text(json.dumps(asdict(record)))
        yield child
    finally:
        child.kill()
        child.wait(timeout=PATIENCE_S)


def test_a_guest_of_a_dead_session_is_ended_and_reported(
    rig: Rig, leftover: subprocess.Popen[bytes], runtime: Path
) -> None:
    result = rig.run("--runs", "1")
    assert leftover.wait(timeout=PATIENCE_S) == -9
    result.stderr.fnmatch_lines([f"*ended guest {leftover.pid}, which session * left running"])
    assert list(runtime.iterdir()) == []


def test_a_plan_ends_nothing(rig: Rig, leftover: subprocess.Popen[bytes]) -> None:
    rig.run("--plan")
    assert leftover.poll() is None
