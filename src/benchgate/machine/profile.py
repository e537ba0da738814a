"""One boot under `perf record`: where the host's time goes while a guest runs. Never a sample.

Takes a BootSpec with its mark and a folder of its own; gives a Profile: the file, or in one sentence why
there is none. perf is attached to the vCPU threads before the guest's first instruction. Does not fail: a
host without perf, one that refuses it, and a guest that does not boot each give their reason.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import pexpect

from benchgate.errors import BootError
from benchgate.machine import process
from benchgate.machine.console import Limits
from benchgate.machine.guest import started
from benchgate.machine.process import Child
from benchgate.machine.watch import Watch, clean
from benchgate.model import BootSpec
from benchgate.plaintext import Stream

DATA, LOG = "perf.data", "perf.log"
_ATTACH_S = 10.0
_FINISH_S = 10.0
_LOG_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Profile:
    """`file` is perf's own; None: `reason` says why there is none."""

    file: Path | None
    reason: str = ""


def record(spec: BootSpec, folder: Path, *, mark: str, watch: Watch) -> Profile:
    """Boots once and keeps what perf saw of the vCPU threads."""
    perf = shutil.which("perf")
    if perf is None:
        return Profile(None, "there is no `perf` on PATH (Debian and Ubuntu: linux-perf, linux-tools)")
    try:
        folder.mkdir(parents=True)
        with started(spec, folder, mark=mark, limits=Limits()) as machine:
            machine.prepare()
            child = _attach(perf, machine.vcpus, folder)
            try:
                if child.has_ended():
                    return Profile(None, _refusal(folder))
                machine.go()
                machine.console.plain = Stream()
                stops = [pexpect.EOF, pexpect.TIMEOUT, *watch.ends]
                machine.console.expect(stops, timeout=spec.deadlines.boot_s + spec.deadlines.run_s)
            finally:
                child.stop(_FINISH_S)  # on SIGTERM perf writes what it has
    except (BootError, OSError) as error:
        return Profile(None, str(error))
    data = folder / DATA
    if not data.is_file() or data.stat().st_size == 0:
        return Profile(None, _refusal(folder))
    return Profile(data)


def _attach(perf: str, threads: tuple[int, ...], folder: Path) -> Child:
    """perf at work, or at its end: it makes its file once it has the threads."""
    argv = [perf, "record", "--quiet", "--output", str(folder / DATA)]
    argv += ["--tid", ",".join(map(str, threads))]
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        with (folder / LOG).open("wb") as log:
            child = process.start(
                argv, process.base_environment({}), stdin=nothing, stdout=log.fileno(), stderr=log.fileno()
            )
    finally:
        os.close(nothing)
    deadline = time.monotonic() + _ATTACH_S
    while not child.has_ended() and not (folder / DATA).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return child


def _refusal(folder: Path) -> str:
    """perf's own words where it has any."""
    with (folder / LOG).open("rb") as log:
        lines = [clean(line) for line in log.read(_LOG_BYTES).splitlines()]
    said = next((line for line in lines if line and line != "Error:"), "")
    return f"perf recorded nothing: {said or 'it said nothing'}"
