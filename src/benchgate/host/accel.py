"""Finds out which accelerators are usable, with a timed probe guest and not from the existence of a device.

Takes a QEMU; gives an AccelProbe for each accelerator, cached for this boot of the host and this QEMU. A
hypervisor may offer a /dev/kvm that emulates and is thousands of times slower than TCG. KVM is therefore
usable only if it keeps up with TCG in the same guest. `probe` does not fail if an accelerator is unusable;
that is its result. `choose` fails with HostError if the requested accelerator is unusable.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from benchgate.base.cells import Accel
from benchgate.base.errors import BootError, HostError
from benchgate.base.files import file_digest, read_json
from benchgate.base.jsonfields import PlainWord, Printable, read
from benchgate.base.process import capture
from benchgate.base.system.qemu import Qemu
from benchgate.base.text import UNAVAILABLE, one_line
from benchgate.build.cache import entry
from benchgate.host.probe import INSTRUCTIONS_PER_STEP, ProbeError, ProbeGuest, answers, image
from benchgate.host.procfs import text_of

_FORMAT = 3
CPU_MODELS = {Accel.KVM: ("host", "max"), Accel.TCG: ("max",)}
"""CPU models in the order in which they are tried; the first that works is used."""

KEEPS_UP = 0.5
"""KVM must reach this share of TCG's speed. Real KVM is faster than TCG, emulated KVM slower by orders of
magnitude; the factor of two tolerates a noisy host."""

_ALONE_MIPS = 200.0
"""The speed that KVM must reach if this QEMU has no TCG to compare with."""

_TCG_BOOT_S = 60.0
"""How long the probe guest may boot under TCG. It is long, because TCG works on every host, but on a nested
and busy one the start of QEMU alone takes seconds."""
_KVM_BOOT_S = 6.0
_SLOWER = 4.0
"""Under KVM it may take so long, and always so many times as long as under TCG: an emulating KVM must not
make every session wait for a minute."""
_MOST_REPEATS = 6
_TARGET_S = 0.2
_MOST_STEPS = 2_000_000_000


class ProbeState(StrEnum):
    USABLE = "usable"
    UNUSABLE = "unusable"
    PRESENT_UNUSABLE = "present, unusable"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class AccelProbe:
    accel: Accel
    state: ProbeState
    figure: float | None
    """Million instructions per second in the probe guest; None if it never answered."""
    boot_s: float | None
    cpu_model: PlainWord | None
    """The first of CPU_MODELS that works; of TCG the only one, even if no probe guest answered."""
    detail: Annotated[str, Printable(2000)]
    """The reason for the state: figures, or what went wrong."""

    @property
    def usable(self) -> bool:
        return self.state is ProbeState.USABLE

    @property
    def reason(self) -> str:
        """One sentence for the envelope and for errors: "kvm: present, unusable: ..."."""
        return f"{self.accel}: {self.state}: {self.detail}"


def probe(qemu: Qemu, accel: Accel, *, device: Path = Path("/dev/kvm")) -> AccelProbe:
    """The cached result for this boot of the host, or a new one (about half a second)."""
    boot_id = text_of(Path("/proc/sys/kernel/random/boot_id"))
    if boot_id is None:
        return probe_now(qemu, accel, device=device)  # without it a cached result could be from another boot
    key = {
        "format": str(_FORMAT),
        "boot": boot_id,
        "qemu": qemu.digest,
        "guest": file_digest(image(qemu.guest)),
        "accel": accel.value,
        "device": _device_key(device) if accel is Accel.KVM else "",
    }
    new: list[AccelProbe] = []

    def make(folder: Path) -> None:
        new.append(probe_now(qemu, accel, device=device))
        if accel is Accel.TCG and not new[0].usable:
            raise ProbeError(new[0].reason)  # may be a passing failure, so do not cache it
        (folder / "probe.json").write_text(json.dumps(asdict(new[0])))

    try:
        path = entry("accel", key, make) / "probe.json"
    except ProbeError:
        return new[0]
    return new[0] if new else _load(path, accel) or probe_now(qemu, accel, device=device)


def probe_now(qemu: Qemu, accel: Accel, *, device: Path = Path("/dev/kvm")) -> AccelProbe:
    """A new result, regardless of the cache."""
    if accel is Accel.TCG:
        return _tcg(qemu)
    if not qemu.guest.is_host:
        why = f"this host's processor cannot run guests of {qemu.guest}"
        return unusable(Accel.KVM, ProbeState.ABSENT, why)
    refused = _device_trouble(device) or _binary_trouble(qemu)
    if refused:
        return unusable(Accel.KVM, *refused)
    return _kvm(qemu, probe(qemu, Accel.TCG))


def unusable(accel: Accel, state: ProbeState, detail: str) -> AccelProbe:
    """The result if no probe guest could run."""
    return AccelProbe(accel, state, None, None, None, detail)


def choose(requested: str, probes: Mapping[Accel, AccelProbe]) -> AccelProbe:
    """The accelerator for `--accel auto|kvm|tcg`."""
    if requested == "auto":
        for accel in (Accel.KVM, Accel.TCG):
            if accel in probes and probes[accel].usable:
                return probes[accel]
        reasons = "; ".join(accel_probe.reason for accel_probe in probes.values()) or "none was probed"
        raise HostError(f"no accelerator of this QEMU can run a guest here: {reasons}")
    accel_probe = probes[Accel(requested)]
    if not accel_probe.usable:
        raise HostError(f"--accel {requested}: {accel_probe.reason}")
    return accel_probe


def judge_kvm(figure: float, tcg: AccelProbe) -> tuple[bool, str]:
    """Whether KVM keeps up with TCG, and a text that says so. Pure."""
    good = figure >= _least_mips(tcg)
    if tcg.figure is None:
        expected = f"where at least {_ALONE_MIPS:,.0f} is expected; tcg gave no figure"
        return good, f"{_mips(figure)}, {expected}"
    if good:
        return True, f"{_mips(figure)}, {figure / tcg.figure:.2g} times tcg"
    slower = tcg.figure / figure
    return False, f"{slower:,.0f} times slower than tcg ({_mips(figure)} against {tcg.figure:,.0f})"


def _least_mips(tcg: AccelProbe) -> float:
    return _ALONE_MIPS if tcg.figure is None else KEEPS_UP * tcg.figure


def _tcg(qemu: Qemu) -> AccelProbe:
    (model,) = CPU_MODELS[Accel.TCG]
    try:
        boot_s, figure = _time_guest(qemu, Accel.TCG, model, _TCG_BOOT_S)
    except ProbeError as error:
        # A busy host can make the probe fail. Guests still get this model: QEMU's default may be of 32 bits.
        return replace(unusable(Accel.TCG, ProbeState.UNUSABLE, str(error)), cpu_model=model)
    detail = f"{_mips(figure)}, boots in {boot_s:.2f} s"
    return AccelProbe(Accel.TCG, ProbeState.USABLE, figure, boot_s, model, detail)


def _kvm(qemu: Qemu, tcg: AccelProbe) -> AccelProbe:
    failures: dict[str, list[str]] = {}
    patience_s = max(_KVM_BOOT_S, _SLOWER * (tcg.boot_s or 0))
    for model in CPU_MODELS[Accel.KVM]:
        try:
            boot_s, figure = _time_guest(qemu, Accel.KVM, model, patience_s, _least_mips(tcg))
        except ProbeError as error:
            failures.setdefault(str(error), []).append(f"-cpu {model}")
            continue
        keeps_up, words = judge_kvm(figure, tcg)
        also = f"; {_listed(failures)}" if failures else ""
        state = ProbeState.USABLE if keeps_up else ProbeState.PRESENT_UNUSABLE
        detail = f"{words}, boots in {boot_s:.2f} s with -cpu {model}{also}"
        return AccelProbe(Accel.KVM, state, figure, boot_s, model, detail)
    return unusable(Accel.KVM, ProbeState.PRESENT_UNUSABLE, _listed(failures))


def _listed(failures: Mapping[str, Sequence[str]]) -> str:
    """`-cpu host and -cpu max: QEMU died ...`: each error once, after the models that it is the error of."""
    return "; ".join(f"{' and '.join(models)}: {error}" for error, models in failures.items())


def _time_guest(
    qemu: Qemu, accel: Accel, cpu_model: str, patience_s: float, expected: float = 0.0
) -> tuple[float, float]:
    """Seconds to boot, for which it has `patience_s`, and once more as long for all else; and million
    instructions per second, measured repeatedly if fewer than `expected`. The speed is that of computing
    alone: where each access to a device is slow, as in a nested guest, a request and its answer take longer
    than 0.1 s."""
    begin = time.monotonic()
    limit = begin + 2 * patience_s
    with ProbeGuest(qemu, accel, cpu_model) as guest:

        def took(steps: int) -> float:
            return answers([guest], steps, max(0.1, limit - time.monotonic()))[0]

        def computed(steps: int) -> float:
            """What is enough is asked twice, and more often if it would be too slow: other work on the host
            can only slow a guest down."""
            least = took(steps) - talk_s
            for again in range(_MOST_REPEATS):
                is_fast = steps * INSTRUCTIONS_PER_STEP >= expected * 1e6 * least
                late = time.monotonic() + 2 * (least + talk_s) > limit
                if least < enough_s or (again and (is_fast or late)):
                    break
                least = min(least, took(steps) - talk_s)
            return least

        guest.ready(patience_s)
        boot_s = time.monotonic() - begin
        talk_s = min(took(1), took(1))
        enough_s = max(_TARGET_S / 2, 2 * talk_s)
        steps = 1_000
        while (seconds := computed(steps)) < enough_s and steps < _MOST_STEPS:
            steps = min(_MOST_STEPS, int(steps * min(100.0, max(2.0, 2 * enough_s / max(seconds, 1e-9)))))
        guest.end(max(0.1, limit - time.monotonic()))
    return boot_s, steps * INSTRUCTIONS_PER_STEP / max(seconds, 1e-9) / 1e6


def _device_trouble(device: Path) -> tuple[ProbeState, str] | None:
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == errno.ENOENT:
            return ProbeState.ABSENT, f"this host has no {device}"
        why = f"{device} cannot be opened: {error.strerror}"
        if error.errno in (errno.EACCES, errno.EPERM):
            why = f"this user may not open {device} (add it to the device's group)"
        return ProbeState.PRESENT_UNUSABLE, why
    return None


def _binary_trouble(qemu: Qemu) -> tuple[ProbeState, str] | None:
    try:
        done = capture([str(qemu.binary), "-accel", "help"], 20, {**os.environ, **qemu.environment})
    except subprocess.TimeoutExpired:
        return ProbeState.PRESENT_UNUSABLE, f"{qemu.binary} -accel help does not end"
    except BootError as error:
        return ProbeState.PRESENT_UNUSABLE, str(error)
    if done.returncode:
        return ProbeState.PRESENT_UNUSABLE, f"{qemu.binary} does not run: {one_line(done.stderr)}"
    if "kvm" not in done.stdout.split():
        return ProbeState.ABSENT, f"{qemu.binary} is built without it"
    return None


def _device_key(device: Path) -> str:
    """Part of the cache key: a change of owner, group or mode may change the result."""
    try:
        status = device.stat()
    except OSError as error:
        return one_line(str(error.strerror))
    allowed = os.access(device, os.R_OK | os.W_OK)
    return f"{status.st_rdev} {status.st_ctime_ns} {os.geteuid()} {allowed}"


def _load(path: Path, accel: Accel) -> AccelProbe | None:
    """A cached result; None if the file is invalid, because a file on disk is not trusted."""
    try:
        return probe_from_json(read_json(path.read_text()), accel)
    except (OSError, ValueError):
        return None


def probe_from_json(value: object, accel: Accel) -> AccelProbe:
    """Reads what `asdict` made of a probe. ValueError unless it is a result for this accelerator."""
    accel_probe = read(AccelProbe, value, "the probe")
    positive = all(number is None or 0 < number < 1e9 for number in (accel_probe.figure, accel_probe.boot_s))
    complete = not accel_probe.usable or None not in (accel_probe.figure, accel_probe.cpu_model)
    if accel_probe.accel is not accel or not positive or not complete:
        raise ValueError(f"the probe is not one of {accel}, or has no figure")
    return accel_probe


def _mips(figure: float | None) -> str:
    if figure is None:
        return UNAVAILABLE
    return f"{figure:,.{0 if figure >= 100 else 1}f} million instructions per second"
