"""Makes boots of the stand-in QEMU for tests, each with words that say what it plays."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchgate.machine.console import Limits
from benchgate.machine.qemu import command, guest_name
from benchgate.model import Accel, BootSpec, Cell, Deadlines, Lane, Mode, Placement
from benchgate.run import RunRequest

FAKE_QEMU = Path(__file__).parent / "data" / "fake-qemu"
# Its own in each session, since several may test on one machine; handed down to a test's child processes.
NONCE = os.environ.setdefault("BENCHGATE_TEST_NONCE", secrets.token_hex(8))
PATIENT = Deadlines(boot_s=60.0, run_s=60.0)
QUICK = Limits(console_bytes=1 << 20, stderr_bytes=1 << 20, leave_s=30.0, linger_s=0.2)


class FakeQemu:
    """The stand-in under this very interpreter; the one in PATH may be a slow shim."""

    environment: dict[str, str] = {}  # noqa: RUF012 - a protocol's plain attribute
    data: tuple[Path, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.binary = folder / "fake-qemu"
        self.binary.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {FAKE_QEMU} "$@"\n')
        self.binary.chmod(0o755)


def boot(
    folder: Path,
    play: str = "good",
    *,
    cpus: int = 2,
    pins: tuple[int, ...] = (),
    deadlines: Deadlines = PATIENT,
    nonce: str = NONCE,
    lane: Lane = Lane.TCG,
    kernel: Path = FAKE_QEMU,
) -> BootSpec:
    """`folder` is where the stand-in's wrapper is made."""
    argv = command(
        FakeQemu(folder),
        machine="q35",
        cpu="max",
        memory="64M",
        smp=str(cpus),
        accel=Accel.TCG,
        kernel=kernel,
        append=f"bench.nonce={nonce} fake.play={play}",
        name=guest_name(nonce),
    )
    return BootSpec(argv, {}, lane, cpus, pins, deadlines)


def request(spec: BootSpec, folder: Path, *, nonce: str = NONCE, limits: Limits = QUICK) -> RunRequest:
    folder.mkdir(parents=True, exist_ok=True)
    return RunRequest(
        cell=Cell("linux", "primes", Mode.PROCESS, (("hi", 3000),), spec.cpus),
        spec=spec,
        folder=folder,
        nonce=nonce,
        attempt=1,
        order=0,
        seed=7,
        placement=Placement.VIRTUAL,
        warmup=False,
        guest_digest="ab" * 32,
        limits=limits,
    )


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Whether it came true in time. The bound is there to end a broken test, not to measure."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def processes_with(word: str) -> list[int]:
    """Living processes that have a word in their argv (this one's own tests' guests have a nonce there)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in words:
                found.append(int(entry.name))
    return found
