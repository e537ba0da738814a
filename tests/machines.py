"""Boots of the fake QEMU for tests. `fake.play=` on the command line selects its behaviour."""

from __future__ import annotations

import gc
import os
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchgate.base.cells import Accel, Cell, Lane, Mode, Placement
from benchgate.base.runs import BootSpec, Deadlines
from benchgate.base.system.qemu import CONTROLLED, Qemu, command, guest_name
from benchgate.run.attempt import RunRequest
from benchgate.run.console import ConsoleLimits

FAKE_QEMU = Path(__file__).parent / "data" / "fake-qemu"
# Unique per test session, since several may run on one host. Child processes of a test inherit it.
NONCE = os.environ.setdefault("BENCHGATE_TEST_NONCE", secrets.token_hex(8))
PATIENCE_S = 300.0
"""Ends a broken test; nothing is measured against it. What a test must end by itself runs for longer."""
PATIENT = Deadlines(boot_s=PATIENCE_S, run_s=PATIENCE_S)
QUICK = ConsoleLimits(console_bytes=1 << 20, stderr_bytes=1 << 20, leave_s=PATIENCE_S, linger_s=0.2)


def fake_qemu(folder: Path) -> Qemu:
    """The fake QEMU, run by this interpreter, because the python3 on PATH may be a slow wrapper."""
    binary = folder / "fake-qemu"
    binary.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {FAKE_QEMU} "$@"\n')
    binary.chmod(0o755)
    return Qemu(binary, {}, (), (10, 0, 2), "fake")


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
    """`folder`: where to put the fake QEMU's wrapper."""
    argv = command(
        fake_qemu(folder),
        machine="q35",
        console=CONTROLLED,
        cpu="max",
        memory="64M",
        smp=str(cpus),
        accel=Accel.TCG,
        kernel=kernel,
        append=f"bench.nonce={nonce} fake.play={play}",
        name=guest_name(nonce),
    )
    return BootSpec(argv, {}, lane, cpus, pins, deadlines)


def request(spec: BootSpec, folder: Path, *, nonce: str = NONCE, limits: ConsoleLimits = QUICK) -> RunRequest:
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


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    """True if the condition came true in time. The bound only ends a broken test."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def open_files() -> set[Path]:
    """The descriptors of this process, without those that only garbage of earlier tests holds."""
    gc.collect()
    return set(Path("/proc/self/fd").iterdir())


def processes_with(word: str) -> list[int]:
    """The running processes with this word in argv. The guests of this test session have NONCE there."""
    result = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in words:
                result.append(int(entry.name))
    return result
