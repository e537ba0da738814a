"""`benchgate doctor --kvm-report FILE`: what was found of this host's KVM, as a file that can be sent to
somebody.

Takes the surveyed host and its QEMU; gives a KvmReport, and writes it as JSON (reports/schema/kvm-1.json). It
has facts of the processor, the kernel, the modules and the probes; no name of the host or of its users, no
address, no serial number, no command line of the kernel, and of paths only what is below the home folder,
from `~` on. A fact that the host does not tell is "unavailable". `write` fails with EvidenceError if the file
cannot be written.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal

from benchgate.base.cells import Accel
from benchgate.base.errors import BootError
from benchgate.base.jsonfields import Between, Printable, as_json
from benchgate.base.process import capture
from benchgate.base.system.qemu import Qemu
from benchgate.base.text import UNAVAILABLE, one_line
from benchgate.evidence.files import write_whole
from benchgate.host import noise
from benchgate.host.accel import AccelProbe
from benchgate.host.fitness import Host
from benchgate.host.procfs import fact, field, text_of
from benchgate.host.topology import HostTopology

FORMAT: Final = "benchgate-kvm-report"
VERSION: Final = 1
MODULES = ("kvm", "kvm_amd", "kvm_intel")
# fmt: off
FLAGS = frozenset({
    "svm", "vmx", "npt", "ept", "ept_ad", "vpid", "nrip_save", "flushbyasid", "decodeassists", "pausefilter",
    "pfthreshold", "avic", "x2avic", "vgif", "tsc_scale", "vmcb_clean", "hypervisor", "constant_tsc",
    "nonstop_tsc", "tsc_deadline_timer", "x2apic", "arch_perfmon", "perfmon_v2", "cqm", "cqm_llc",
    "cqm_occup_llc", "cqm_mbm_total", "hybrid_cpu", "topoext",
})
# fmt: on
"""The flags of a processor that matter to KVM, to time or to counters."""
_LONG = 2000
_ASK_S = 60.0
_Shown = Annotated[str, Printable(_LONG)]
_Facts = Mapping[str, Annotated[str, Printable(_LONG)]]


@dataclass(frozen=True, slots=True)
class ReportedCapacity:
    """How much more several CPUs compute than one, by the accelerator's probe guests."""

    accel: Accel
    cpus: Annotated[int, Between(1)]
    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class KvmReport:
    """What was found of a host's KVM."""

    format: Literal["benchgate-kvm-report"]
    version: Literal[1]
    cpu: _Facts
    """Vendor, family, model, stepping and name, as in /proc/cpuinfo."""
    flags: tuple[_Shown, ...]
    """Those of the processor's flags that matter here."""
    kernel: _Shown
    """Its release."""
    clocksource: _Shown
    topology: HostTopology
    pins: tuple[Annotated[int, Between(0)], ...]
    """The CPUs to which guests are pinned if no others are asked for."""
    modules: Mapping[str, _Facts]
    """The parameters of the loaded modules of KVM."""
    device: _Shown
    """Owner, group and mode of /dev/kvm by number, or why it cannot be read."""
    qemu: _Shown
    probes: tuple[AccelProbe, ...]
    capacities: tuple[ReportedCapacity, ...]
    unmeasured: tuple[_Shown, ...]
    """Why a capacity could not be measured."""
    counters: _Facts
    """What perf says of counting host and guest, whether resctrl is there, and the detectors of noise."""


def collect(host: Host, qemu: Qemu, root: Path = Path("/")) -> KvmReport:
    cpuinfo = text_of(root / "proc/cpuinfo") or ""
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    names = ("vendor_id", "cpu family", "model", "stepping", "model name")
    return KvmReport(
        format=FORMAT,
        version=VERSION,
        cpu={name: field(cpuinfo, name) for name in names},
        flags=tuple(sorted(FLAGS.intersection(flags[1].split() if flags else ()))),
        kernel=one_line(platform.release()),
        clocksource=fact(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        topology=host.topology,
        pins=host.pins,
        modules=_modules(root),
        device=_device(root),
        qemu=f"{qemu.version_text} ({qemu.origin})" if qemu.origin else qemu.version_text,
        probes=tuple(replace(probe, detail=_without_home(probe.detail)) for probe in host.probes.values()),
        capacities=tuple(
            ReportedCapacity(capacity.accel, capacity.cpus, capacity.ratio, capacity.low, capacity.high)
            for capacity in host.capacities.values()
        ),
        unmeasured=tuple(
            f"{accel.value}, {cpus} CPUs: {_without_home(why)}"
            for (accel, cpus), why in host.unmeasured.items()
        ),
        counters={
            "perf paranoid": fact(root / "proc/sys/kernel/perf_event_paranoid"),
            "perf host": _counted("cycles:u"),
            "perf guest": _counted("cycles:G"),
            "resctrl": "mounted" if (root / "sys/fs/resctrl/schemata").exists() else "not mounted",
            "noise": ", ".join(name for name, there in noise.detectors(root).items() if there) or "none",
        },
    )


def write(path: Path, report: KvmReport) -> None:
    write_whole(path, json.dumps(as_json(report), indent=1) + "\n")


def _modules(root: Path) -> Mapping[str, Mapping[str, str]]:
    result: dict[str, Mapping[str, str]] = {}
    for name in MODULES:
        folder = root / "sys/module" / name
        if folder.is_dir():
            result[name] = {path.name: fact(path) for path in sorted((folder / "parameters").glob("*"))}
    return result


def _device(root: Path) -> str:
    try:
        seen = (root / "dev/kvm").stat()
    except OSError as error:
        return one_line(str(error.strerror))
    return f"{seen.st_uid}:{seen.st_gid} {seen.st_mode & 0o7777:04o}"


def _counted(event: str) -> str:
    """Whether perf counts this event here, in its own words if it does not."""
    try:
        done = capture(["perf", "stat", "-x,", "-e", event, "true"], _ASK_S, dict(os.environ))
    except BootError as error:
        return _without_home(one_line(str(error)))
    count = next((line.split(",")[0] for line in done.stderr.splitlines() if f",{event}," in line), "")
    if count.isdigit():
        return "counted"
    return one_line(count or done.stderr.strip().partition("\n")[0], 200) or UNAVAILABLE


def _without_home(text: str) -> str:
    home = str(Path.home())
    return text.replace(home, "~") if len(home) > 1 else text
