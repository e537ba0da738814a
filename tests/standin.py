"""A run of a guest that nobody boots: its command line is worded as run/argv.py does, its files are given."""

from __future__ import annotations

import hashlib
from pathlib import Path

from benchgate.base.cells import Cell, Lane, Mode, Placement
from benchgate.base.runs import BootSpec, Deadlines, Uses
from benchgate.base.system.qemu import Qemu
from benchgate.run.attempt import RunRequest


def request_of(seed: int, folder: Path, files: Path, *, warmup: bool = False, attempt: int = 1) -> RunRequest:
    """A run of a guest whose files are in `files`, as run/argv.py words it."""
    nonce = hashlib.sha256(f"{seed}".encode()).hexdigest()[:16]
    qemu = Qemu(files / "bin" / "qemu", {}, (files / "share",), (10, 0, 2), "a" * 64)
    plugin, kernel = files / "clock.so", files / "kernel"
    argv = (
        str(qemu.binary),
        *("-L", str(files / "share"), "-name", f"guest=benchgate-{nonce},debug-threads=on"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35"),
        *("-accel", "tcg,thread=multi", "-m", "512M", "-smp", "2", "-S"),
        *("-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"),
        *("-chardev", "socket,id=qmp,fd=3", "-mon", "chardev=qmp,mode=control"),
        *("-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-kernel", str(kernel), "-append", "bench.x=1"),
        *("-plugin", f"{plugin},out={folder}/clock.log,seed={seed}"),
        *("-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", "1"),
    )
    uses = Uses(qemu, plugin, {"kernel": kernel})
    spec = BootSpec(argv, {}, Lane.INSN, 2, (), Deadlines(60.0, 60.0), uses=uses)
    cell = Cell("kernel", "primes", Mode.THREAD, (), 2)
    return RunRequest(cell, spec, folder, nonce, attempt, attempt, seed, Placement.VIRTUAL, warmup, "e" * 64)
