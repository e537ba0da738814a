"""Boots once under `perf record` to show where host time goes while a guest runs. It is never a sample.

Takes a BootSpec, its mark and a folder; gives a `PerfRecording`: the file, or one sentence that says why
there is none. perf is attached to the vCPU threads before the guest's first instruction. Does not fail: if
the host has no perf, if perf is refused, or if the guest does not boot, the recording has the reason.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pexpect

from benchgate.base import process
from benchgate.base.console_text import Stream
from benchgate.base.errors import BootError
from benchgate.base.interrupts import held
from benchgate.base.process import Child
from benchgate.base.runs import BootSpec
from benchgate.base.text import one_line
from benchgate.run.console import ConsoleLimits
from benchgate.run.guest import started
from benchgate.run.watch import Watch

DATA, LOG = "perf.data", "perf.log"
_ATTACH_S = 10.0
_FINISH_S = 10.0
_LOG_BYTES = 4096


@dataclass(frozen=True, slots=True)
class PerfRecording:
    """The file that perf wrote, or None and the reason."""

    file: Path | None
    reason: str = ""


def record(spec: BootSpec, folder: Path, *, mark: str, watch: Watch) -> PerfRecording:
    """Boots once and keeps perf's recording of the vCPU threads."""
    perf = shutil.which("perf")
    if perf is None:
        advice = "install it (Debian and Ubuntu: linux-perf, linux-tools)"
        return PerfRecording(None, f"`perf` is not on PATH; {advice}")
    try:
        folder.mkdir(parents=True)
        with started(spec, folder, mark=mark, limits=ConsoleLimits()) as guest:
            guest.prepare()
            with ExitStack() as stack:
                child = _attach(perf, guest.vcpus, folder, stack)
                if child.has_ended():
                    return PerfRecording(None, _refusal(folder))
                guest.go()
                guest.console.plain = Stream()
                stops = [pexpect.EOF, pexpect.TIMEOUT, *watch.ends]
                guest.console.expect(stops, timeout=spec.deadlines.boot_s + spec.deadlines.run_s)
    except (BootError, OSError) as error:
        return PerfRecording(None, str(error))
    data = folder / DATA
    if not data.is_file() or data.stat().st_size == 0:
        return PerfRecording(None, _refusal(folder))
    return PerfRecording(data)


def _attach(perf: str, threads: tuple[int, ...], folder: Path, stack: ExitStack) -> Child:
    """Starts perf and waits until it has attached (it then creates its file) or has ended. `stack` stops
    it."""
    argv = [perf, "record", "--quiet", "--output", str(folder / DATA)]
    argv += ["--tid", ",".join(map(str, threads))]
    environment = process.base_environment({})
    with (folder / LOG).open("wb") as log, Path(os.devnull).open("rb") as nothing, held():
        said = log.fileno()
        child = process.start(argv, environment, stdin=nothing.fileno(), stdout=said, stderr=said)
        stack.callback(child.stop, _FINISH_S)  # on SIGTERM perf writes its data
    deadline = time.monotonic() + _ATTACH_S
    while not child.has_ended() and not (folder / DATA).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return child


def _refusal(folder: Path) -> str:
    """Why there is no recording, with perf's own message if it printed one."""
    with (folder / LOG).open("rb") as log:
        lines = [one_line(line) for line in log.read(_LOG_BYTES).splitlines()]
    message = next((line for line in lines if line and line != "Error:"), "")
    return f"perf recorded nothing: {message or 'it printed no message'}"
