"""A session in a process of its own, with the fake QEMU, for tests that kill it or fill its disk.

Takes a pytester and a folder; gives a `SessionRig`. Every attempt is good except the one that a test chooses.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.machines import PATIENCE_S, processes_with, wait_until
from tests.plugin.conftest import CONFTEST, TEST_FILE, Rig

# Another session on this machine may hold the real lock.
OWN_LOCK = """
from functools import partial
from benchgate.host import lock

lock.measuring = partial(lock.measuring, name={name!r})
"""

PLAYS_AT = """
from dataclasses import replace
from itertools import count
from benchgate.session.measuring import MeasuringSession

attempts, places = MeasuringSession.attempts, count(1)

def played(asked):
    if next(places) != {order}:
        return asked
    system = asked.planned.system
    words = system.boot.append.replace("fake.play=good", "fake.play={play}")
    system = replace(system, boot=replace(system.boot, append=words))
    return replace(asked, planned=replace(asked.planned, system=system))

def staged(self, group):
    return attempts(self, [played(asked) for asked in group])

MeasuringSession.attempts = staged
"""


@dataclass
class SessionRig:
    rig: Rig
    lock: str

    @property
    def reports(self) -> Path:
        return self.rig.folder / "reports"

    @property
    def latest(self) -> Path:
        return self.reports / "latest"

    @property
    def facts(self) -> dict[str, Any]:
        result: dict[str, Any] = json.loads((self.latest / "session.json").read_text())
        return result

    def play_at(self, order: int, play: str, more: str = "") -> None:
        """Makes the attempt with this number play something else than a good console."""
        self.conftest(PLAYS_AT.format(order=order, play=play) + more)

    def hang_at(self, order: int) -> None:
        """Makes the attempt with this number hang in its run, for longer than any test waits."""
        self.play_at(order, "hang-run")

    def conftest(self, more: str = "") -> None:
        self.rig.pytester.makeconftest(CONFTEST + OWN_LOCK.format(name=self.lock) + more)

    def argv(self, *words: str) -> list[str]:
        # A signal may come between the opening of a file and the `with` that closes it. Python says so when
        # it collects the file, and -W error would make that the session's end.
        late = ("-W", "ignore::pytest.PytestUnraisableExceptionWarning")
        return [sys.executable, "-m", "pytest", *self.rig.arguments(*late, *words)]

    @contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A session in a process group of its own. It is killed at the end of the block."""
        process = subprocess.Popen(
            self.argv(*words),
            cwd=self.rig.pytester.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate(timeout=PATIENCE_S)

    def run(self, *words: str) -> tuple[int, str]:
        with self.started(*words) as process:
            said, _ = process.communicate(timeout=PATIENCE_S)
            return process.returncode, said

    def await_hanging(self, order: int) -> Path:
        """Waits until the guest of the hanging attempt runs; gives the attempt's folder."""

        def is_up() -> bool:
            return any(b"benchready" in path.read_bytes() for path in self._serials(order))

        assert wait_until(is_up, PATIENCE_S), f"attempt {order} never came up: {self._endings()}"
        return self._serials(order)[0].parent

    def _endings(self) -> dict[str, str]:
        """How each attempt ended so far, and why."""
        runs = sorted(self.reports.glob("runs/*/runs/*/run.json"))
        said = {path.parent.name: json.loads(path.read_text()) for path in runs}
        return {name: f"{value['ending']}: {value['detail']}" for name, value in said.items()}

    def _serials(self, order: int) -> list[Path]:
        return list(self.reports.glob(f"runs/*/runs/{order:04d}-*/serial.log"))

    def guests(self) -> list[int]:
        """The running processes whose arguments contain this session's kernel."""
        return processes_with(str(self.rig.folder / "kernel"))


def benchgate(*words: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "benchgate.cli", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stdout + done.stderr


def make(pytester: pytest.Pytester, folder: Path) -> SessionRig:
    (folder / "kernel").write_bytes(b"kernel")
    pytester.makepyfile(test_scaling=TEST_FILE)
    rig = Rig(pytester, folder)
    rig.consoles((19_000_000, 10_000_000))
    made = SessionRig(rig, f"benchgate-test-{os.getpid()}-{folder.name}")
    made.conftest()
    return made
