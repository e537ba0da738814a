"""Which accelerator is good for anything here: found by a timed probe guest, not by a device's existence.

Takes a QEMU; gives an AccelProbe for each accelerator, kept in the cache for this boot of the host and this
QEMU. A hypervisor may offer a /dev/kvm that emulates and is thousands of times slower than TCG: so KVM is
usable only where it keeps up with TCG in the same guest. `probe` never fails because an accelerator is
unusable (that is its answer); `choose` fails with HostError where the one asked for is.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchgate.cache import entry
from benchgate.errors import HostError
from benchgate.files import file_digest
from benchgate.host import probe as guest
from benchgate.host.facts import UNAVAILABLE, printable, text_of
from benchgate.host.probe import Emulator, ProbeFailed, ProbeGuest
from benchgate.model import Accel
from benchgate.toolchain import hear

_FORMAT = 1
CPU_MODELS = {Accel.KVM: ("host", "max"), Accel.TCG: ("max",)}
"""Tried in this order; the first that works is the one to use."""

KEEPS_UP = 0.5
"""KVM must reach this part of TCG's figure. Real KVM is faster, emulation is slower by orders; a factor of
two between them is room for a noisy host."""

_ALONE_MIPS = 200.0
"""What KVM must reach where this QEMU has no TCG to compare with."""

_BOOT_S = 6.0
_PATIENCE_S = 12.0
"""Hard limits for a probe's boot and for one guest's whole life."""
_TARGET_S = 0.2
_MOST_STEPS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class AccelProbe:
    accel: Accel
    usable: bool
    figure: float | None
    """Million instructions per second in the probe guest; None where it never answered."""
    boot_s: float | None
    cpu_model: str | None
    """The first of CPU_MODELS that works."""
    reason: str
    """One sentence for doctor, envelope and errors: "kvm: present, unusable: ..."."""


def probe(
    qemu: Emulator, accel: Accel, *, device: Path = Path("/dev/kvm"), fresh: bool = False
) -> AccelProbe:
    """The kept answer for this boot of the host, or a new one (half a second where all is well). `fresh` asks
    anew and keeps that."""
    boot_id = text_of(Path("/proc/sys/kernel/random/boot_id"))
    if boot_id is None:
        return probe_now(qemu, accel, device=device)  # nothing to tell one boot from the next
    key = {
        "format": str(_FORMAT),
        "boot": boot_id,
        "qemu": qemu.digest,
        "guest": file_digest(guest.image()),
        "accel": accel.value,
        "device": _device_key(device) if accel is Accel.KVM else "",
    }
    new: list[AccelProbe] = []

    def make(folder: Path) -> None:
        new.append(probe_now(qemu, accel, device=device))
        if accel is Accel.TCG and not new[0].usable:
            raise ProbeFailed(new[0].reason)  # says nothing of the host's nature: not to be kept
        (folder / "probe.json").write_text(json.dumps(asdict(new[0])))

    try:
        path = entry("accel", key, make) / "probe.json"
        if fresh and not new:
            path.unlink(missing_ok=True)  # a folder that lacks a file is made again
            path = entry("accel", key, make) / "probe.json"
    except ProbeFailed:
        return new[0]
    return new[0] if new else _load(path, accel) or probe_now(qemu, accel, device=device)


def probe_now(qemu: Emulator, accel: Accel, *, device: Path = Path("/dev/kvm")) -> AccelProbe:
    """A new answer, whatever was kept."""
    if accel is Accel.TCG:
        return _tcg(qemu)
    refused = _device_trouble(device) or _binary_trouble(qemu)
    if refused:
        return AccelProbe(Accel.KVM, False, None, None, None, f"kvm: {refused}")
    return _kvm(qemu, probe(qemu, Accel.TCG))


def choose(requested: str, probes: Mapping[Accel, AccelProbe]) -> AccelProbe:
    """The accelerator for `--accel auto|kvm|tcg`."""
    if requested == "auto":
        usable = [
            probes[accel] for accel in (Accel.KVM, Accel.TCG) if accel in probes and probes[accel].usable
        ]
        if usable:
            return usable[0]
        reasons = "; ".join(found.reason for found in probes.values()) or "none was probed"
        raise HostError(f"no accelerator of this QEMU can run a guest here: {reasons}")
    found = probes[Accel(requested)]
    if not found.usable:
        raise HostError(f"--accel {requested}: {found.reason}")
    return found


def judge_kvm(figure: float, tcg: AccelProbe) -> tuple[bool, str]:
    """Whether KVM keeps up with TCG, and the words for it. Pure."""
    if tcg.figure is None:
        good = figure >= _ALONE_MIPS
        against = f"and {_ALONE_MIPS:,.0f} is the least to expect; tcg gave no figure"
        return good, f"{_mips(figure)}, {against}"
    if figure >= KEEPS_UP * tcg.figure:
        return True, f"{_mips(figure)}, {figure / tcg.figure:.2g} times tcg"
    slower = tcg.figure / figure
    return False, f"{slower:,.0f} times slower than tcg ({_mips(figure)} against {tcg.figure:,.0f})"


def _tcg(qemu: Emulator) -> AccelProbe:
    (model,) = CPU_MODELS[Accel.TCG]
    try:
        boot_s, figure = _time_guest(qemu, Accel.TCG, model)
    except ProbeFailed as error:
        return AccelProbe(Accel.TCG, False, None, None, None, f"tcg: unusable: {error}")
    reason = f"tcg: usable: {_mips(figure)}, boots in {boot_s:.2f} s"
    return AccelProbe(Accel.TCG, True, figure, boot_s, model, reason)


def _kvm(qemu: Emulator, tcg: AccelProbe) -> AccelProbe:
    troubles = []
    for model in CPU_MODELS[Accel.KVM]:
        try:
            boot_s, figure = _time_guest(qemu, Accel.KVM, model)
        except ProbeFailed as error:
            troubles.append(f"-cpu {model}: {error}")
            continue
        usable, words = judge_kvm(figure, tcg)
        also = f"; {'; '.join(troubles)}" if troubles else ""
        state = "usable" if usable else "present, unusable"
        reason = f"kvm: {state}: {words}, boots in {boot_s:.2f} s with -cpu {model}{also}"
        return AccelProbe(Accel.KVM, usable, figure, boot_s, model, reason)
    return AccelProbe(Accel.KVM, False, None, None, None, f"kvm: present, unusable: {'; '.join(troubles)}")


def _time_guest(qemu: Emulator, accel: Accel, cpu_model: str) -> tuple[float, float]:
    """Seconds to boot, and million instructions per second: from few steps to as many as 0.2 s hold."""
    begin = time.monotonic()
    limit = begin + _PATIENCE_S
    with ProbeGuest(qemu, accel, cpu_model) as machine:
        machine.ready(_BOOT_S)
        boot_s = time.monotonic() - begin
        steps = 1_000
        while True:
            (seconds,) = guest.answers([machine], steps, max(0.1, limit - time.monotonic()))
            if seconds >= _TARGET_S / 2 or steps >= _MOST_STEPS:
                break
            steps = min(_MOST_STEPS, int(steps * min(100.0, max(2.0, _TARGET_S / seconds))))
        # The best of two: what else ran on the host can only have taken time away.
        (again,) = guest.answers([machine], steps, max(0.1, limit - time.monotonic()))
        machine.end(max(0.1, limit - time.monotonic()))
    return boot_s, steps * guest.INSTRUCTIONS_PER_STEP / min(seconds, again) / 1e6


def _device_trouble(device: Path) -> str | None:
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == errno.ENOENT:
            return f"absent: this host has no {device}"
        if error.errno in (errno.EACCES, errno.EPERM):
            return f"present, unusable: this user may not open {device} (is it in the device's group?)"
        return f"present, unusable: {device} does not open: {error.strerror}"
    return None


def _binary_trouble(qemu: Emulator) -> str | None:
    try:
        done = hear(guest.leashed([str(qemu.binary), "-accel", "help"], qemu.environment), 20, os.environ)
    except subprocess.TimeoutExpired:
        return f"present, unusable: {qemu.binary} -accel help does not end"
    if done.returncode:
        return f"present, unusable: {qemu.binary} does not run: {printable(done.stderr)}"
    if "kvm" not in done.stdout.split():
        return f"absent: {qemu.binary} is built without it"
    return None


def _device_key(device: Path) -> str:
    """Another owner, mode or group may change the answer, and so must ask anew."""
    try:
        status = device.stat()
    except OSError as error:
        return printable(str(error.strerror))
    allowed = os.access(device, os.R_OK | os.W_OK)
    return f"{status.st_rdev} {status.st_ctime_ns} {os.geteuid()} {allowed}"


def _load(path: Path, accel: Accel) -> AccelProbe | None:
    """A kept answer, held to its types: a file on disk is not to be trusted. None where it does not fit."""
    try:
        kept: Any = json.loads(path.read_text())
        found = AccelProbe(**{**kept, "accel": Accel(kept["accel"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    numbers = (found.figure, found.boot_s)
    fits = (
        found.accel is accel
        and isinstance(found.usable, bool)
        and isinstance(found.reason, str)
        and (found.cpu_model is None or isinstance(found.cpu_model, str))
        and all(value is None or (isinstance(value, float) and 0 < value < 1e9) for value in numbers)
        and (not found.usable or (found.figure is not None and found.cpu_model is not None))
    )
    return found if fits else None


def _mips(figure: float | None) -> str:
    if figure is None:
        return UNAVAILABLE
    return f"{figure:,.{0 if figure >= 100 else 1}f} million instructions per second"
