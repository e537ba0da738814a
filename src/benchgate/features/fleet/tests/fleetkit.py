"""A fleet of real processes on this machine: a scheduler, workers that may do one thing wrong, and sessions.

The guest is the smallest row of tern on the instruction clock. What a fleet's session leaves is compared with
that of the same session without a fleet, which is made once.
"""

from __future__ import annotations

import csv
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchgate.features.fleet import doubles
from tests.machines import PATIENCE_S, processes_with, wait_until

WORKER = Path(__file__).parent / "data" / "worker.py"
SEEDS = 5
IMPORTS = """
import pytest
"""
ROW = """
@pytest.mark.workload("primes", hi={hi})
@pytest.mark.gate("verified", cpus=1)
def test_counts_{hi}(verdict):
    verdict.require_pass()
"""
UP = r"worker \S+: at t"
"""What a worker says when the scheduler knows it."""
QUICK_HI, LONG_HI = 10_000, 200_000
"""The long row runs long enough to be caught in a boot."""


@dataclass
class Program:
    """A process whose output goes to a file."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def await_said(self, pattern: str) -> re.Match[str]:
        def has_said() -> bool:
            return re.search(pattern, self.said) is not None or self.process.poll() is not None

        assert wait_until(has_said), f"never said {pattern!r}: {self.said}"
        match = re.search(pattern, self.said)
        assert match is not None, f"ended with {self.process.returncode} before {pattern!r}: {self.said}"
        return match

    def signal(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


@dataclass
class Fleet:
    folder: Path
    port: int
    certificates: Path | None = None
    """None: plain TCP."""
    programs: list[Program] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"{'tls' if self.certificates else 'tcp'}://127.0.0.1:{self.port}"

    @property
    def _trust(self) -> tuple[str, ...]:
        return ("--certificates", str(self.certificates)) if self.certificates else ()

    def start(self, name: str, *words: str | Path, cwd: Path | None = None) -> Program:
        log = self.folder / f"{name}-{len(self.programs)}.log"
        environment = {**os.environ, "PYTHONWARNINGS": "default"}
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, *map(str, words)],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=cwd or self.folder,
                env=environment,
                start_new_session=True,
            )
        self.programs.append(Program(process, log))
        return self.programs[-1]

    def scheduler(self) -> Program:
        words = ("-m", "benchgate.cli", "fleet", "scheduler", "--listen", self.address, *self._trust)
        made = self.start("scheduler", *words)
        made.await_said("scheduler at t")
        return made

    def workers(self, **kinds: str) -> dict[str, Program]:
        """Starts a worker for each name; its kind says what it does wrong (data/worker.py)."""
        made = {name: self.begin_worker(name, kind) for name, kind in kinds.items()}
        for program in made.values():
            program.await_said(UP)
        return made

    def begin_worker(self, name: str, kind: str = "good", *words: str) -> Program:
        own = ("--name", name, "--slots", "1", "--dir", str(self.place(name)))
        options = (*own, *(words or ("--any-guest",)), *self._trust)
        return self.start(name, WORKER, kind, self.address, *options)

    def place(self, name: str) -> Path:
        return self.folder / "workers" / name

    def guests(self, name: str = "") -> list[int]:
        """The QEMUs of a worker, or of all: their command line names the folder of the run."""
        return processes_with(str(self.place(name) / "runs" if name else self.folder / "workers"))

    def qemus(self) -> list[int]:
        return [pid for pid in self.guests() if b"qemu-system" in _executed(pid)]

    def session(
        self, *words: str, hi: int = QUICK_HI, rows: int = 1, system: str = "kernel", seeds: int = SEEDS
    ) -> Session:
        """A session that is measured on this fleet, unless the words say otherwise."""
        place = self.folder / f"session-{len(self.programs)}"
        place.mkdir()
        tests = (ROW.format(hi=hi + number) for number in range(rows))
        (place / "test_row.py").write_text(IMPORTS + "".join(tests))
        options = (
            *("-p", "no:cacheprovider", "--system", system, "--clock", "insn", "--seeds", str(seeds)),
            *("--reports", str(place / "reports"), "test_row.py"),
        )
        program = self.start("session", "-m", "pytest", *options, *words, cwd=place)
        return Session(program, place / "reports")

    def close(self) -> None:
        for program in reversed(self.programs):
            if program.process.poll() is None:
                program.process.kill()
            program.process.wait(PATIENCE_S)


@dataclass(frozen=True)
class Session:
    program: Program
    reports: Path

    @property
    def folder(self) -> Path:
        return (self.reports / "latest").resolve()

    def ended(self) -> int:
        return self.program.process.wait(PATIENCE_S)

    def seeds(self) -> list[tuple[int, str]]:
        """Seed and outcome of each recorded run, in order."""
        with (self.folder / "results.csv").open(newline="") as file:
            return [(int(row["seed"]), row["outcome"]) for row in csv.DictReader(file)]

    def runs(self) -> dict[tuple[int, bool], dict[str, bytes]]:
        """The files of each run, by seed and whether it was the repeated one."""
        result = {}
        for place in sorted(self.folder.glob("runs/*")):
            files = {path.name: path.read_bytes() for path in place.iterdir() if path.name != "worker.json"}
            record = doubles._record(files)
            result[int(str(record["seed"])), bool(record["warmup"])] = files
        return result


def _executed(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0", 1)[0]
    except OSError:
        return b""


@contextmanager
def fleet(folder: Path, certificates: Path | None = None) -> Iterator[Fleet]:
    """Nothing of it is left at the end, and no guest either."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Fleet(folder, port, certificates)
    try:
        yield made
    finally:
        made.close()
    assert wait_until(lambda: made.guests() == [])


WHOLE = [(1, "warmup"), *((seed, "ok") for seed in range(1, SEEDS + 1))]


def assert_same(made: Session, alone: Session) -> None:
    """The session is whole, and each of its runs is the one that this machine makes alone."""
    assert_whole(made)
    theirs, ours = made.runs(), alone.runs()
    assert sorted(theirs) == sorted(ours)
    assert {run: doubles.first_difference(theirs[run], ours[run]) for run in ours} == dict.fromkeys(ours, "")


def assert_whole(made: Session) -> None:
    """Nothing is lost, and nothing is there twice."""
    assert made.ended() == 0, made.program.said
    assert made.seeds() == WHOLE
    assert_verified(made)


def assert_verified(made: Session) -> None:
    verified = [sys.executable, "-m", "benchgate.cli", "verify", str(made.folder)]
    done = subprocess.run(verified, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr


def require() -> None:
    pytest.importorskip("distributed", reason="the optional package distributed is not installed")
