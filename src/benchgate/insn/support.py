"""Finds whether a QEMU supports the instruction clock, by a trial.

Takes a QEMU; gives `Support`. The trial boots a guest of a few hundred bytes (c/probe*.S) under the real
plugin. QEMU must use every hook of the clock, and the guest's clocks and sleep must advance with the
instructions that it executes. A QEMU whose figures are out of range is refused, and the reason names the
figure. `support` does not raise for a QEMU that does not support the clock: it gives the reason. The cache
keeps what was found for this boot of the host, QEMU and plugin.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.cells import Accel
from benchgate.base.errors import BootError, BuildError, FetchError, VerifyError
from benchgate.base.process import capture
from benchgate.base.system.arch import X86_64, Architecture
from benchgate.base.system.qemu import GOOD_EXIT, ON_STDIO, Qemu, command
from benchgate.build.cache import entry
from benchgate.build.fetch import cross
from benchgate.build.programs import compiled
from benchgate.insn.arguments import ClockRun, arguments
from benchgate.insn.guests import Probe, clock_guest
from benchgate.insn.log import ClockLog
from benchgate.insn.log_reader import read_log
from benchgate.insn.plugin import SOURCE, prepare, source_digest

TRIAL_S = 60.0


@dataclass(frozen=True, slots=True)
class Support:
    works: bool
    reason: str
    """The reason if it does not support the clock, else what was measured."""


def support(qemu: Qemu) -> Support:
    """Whether this QEMU supports the clock on this host."""
    try:
        return Support(True, _kept(qemu, prepare(qemu)))
    except (BuildError, FetchError, VerifyError) as error:
        return Support(False, str(error))


def _kept(qemu: Qemu, plugin: Path) -> str:
    key = {
        "boot": Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip(),
        "qemu": qemu.digest,
        "binary": str(qemu.binary),
        "plugin": str(plugin),
        "sources": source_digest(),
    }

    def make(files: Path) -> None:
        text = "; ".join(f"{cpus} CPU: {trial(qemu, plugin, cpus)[0]}" for cpus in (2, 1))
        (files / "measured").write_text(text, encoding="utf-8")

    return (entry("insn-trial", key, make) / "measured").read_text(encoding="utf-8")


def trial(qemu: Qemu, plugin: Path, cpus: int) -> tuple[str, ClockLog]:
    """Boots the probe guest: its figures in words, and the clock's log. VerifyError if QEMU is refused."""
    probe = clock_guest(qemu.guest).probe
    with tempfile.TemporaryDirectory(prefix="benchgate-insn-") as folder:
        log = Path(folder) / "clock.log"
        run = ClockRun(log, cpus=cpus, guest=qemu.guest, machine=probe.machine, patience_s=20)
        clock = arguments(plugin, run)
        argv = command(
            qemu,
            machine=probe.machine,
            console=ON_STDIO,
            accel=Accel.TCG,
            cpu="max",
            memory="32M",
            smp=str(cpus),
            kernel=probe_guest(cpus, qemu.guest),
            extra=(*probe.extra, *clock.argv_extra),
        )
        environment = {**os.environ, **qemu.environment, **clock.environment}
        status, console, complaint = _run(argv, environment)
        seen = read_log(log) if log.exists() else None
    if seen is not None and seen.problem:
        raise VerifyError(seen.problem)
    if status != GOOD_EXIT or seen is None:
        raise VerifyError(_why(status, complaint))
    return check_trial(probe, cpus, console, seen), seen


def _why(status: int | str, complaint: str) -> str:
    words = f"the trial guest ended with {status}: {complaint or 'QEMU printed no error'}"
    no_model = "unable to find CPU model" in complaint  # QEMU before 8.2 for RISC-V
    return f"{words}; use QEMU 8.2 or newer" if no_model else words


def _run(argv: Sequence[str], environment: dict[str, str]) -> tuple[int | str, bytes, str]:
    try:
        done = capture(argv, TRIAL_S, environment)
    except subprocess.TimeoutExpired:
        return f"a timeout after {TRIAL_S:.0f} s", b"", ""
    except BootError as error:
        return f"a failure to start ({error})", b"", ""
    words = done.stderr.strip().splitlines()
    ours = [line for line in words if line.startswith("instruction clock:")]
    return done.returncode, done.stdout[:4096].encode(), (ours or words or [""])[-1][:300]


def check_trial(probe: Probe, cpus: int, console: bytes, log: ClockLog) -> str:
    """Compares the figures of the probe guest and of the clock with the expected ones; gives them as text."""
    begins, ends = ([mark.time for mark in log.marks if mark.kind == kind] for kind in (1, 2))
    if len(begins) != 1 or len(ends) != 1 or ends[0] - begins[0] != probe.marked:
        logged = f"the clock logged {log.marks}"
        raise VerifyError(f"there are {probe.marked} instructions between the probe's marks; {logged}")
    figures = probe.read(console)
    if figures is None:
        raise VerifyError("the trial guest did not print its figures")
    for name, figure in probe.figures.items():
        if figure.needs_second and cpus == 1:
            continue
        if not figure.low <= figures[name] <= figure.high:
            due = f"expected {figure.low} to {figure.high}"
            raise VerifyError(f"{figure.what} advanced by {figures[name]}, {due}")
    used = {**log.checks, **log.host}
    if unused := [name for name in probe.hooks if not used.get(name)]:
        raise VerifyError(f"this QEMU never used one of the clock's hooks ({unused[0]})")
    return ", ".join(f"{name}={figures[name]}" for name in probe.figures)


def probe_guest(cpus: int, guest: Architecture = X86_64) -> Path:
    """Builds the probe guest for one or two CPUs."""
    probe, kind = clock_guest(guest).probe, guest.kind("insn-probe")
    flags, folder = [f"-DCPUS={cpus}", *probe.flags], SOURCE / "guests"
    compiler = cross.compiler(guest)
    return compiled(kind, f"probe{cpus}.elf", folder, [probe.source], flags, compiler=compiler)
