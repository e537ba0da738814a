"""The envelope: the facts about this host that belong to every measurement on it.

Takes /proc, /sys and /dev (below `root`), the topology, the QEMU and the probed accelerators; gives a plain
dict, which session.json contains unchanged. Nothing fails: a fact that the host does not report is
"unavailable". Uses no network: the provider comes from the host's own firmware tables.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import struct
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchgate.base.errors import BuildError
from benchgate.base.system.qemu import Qemu
from benchgate.base.text import UNAVAILABLE, one_line
from benchgate.build.toolchain import compiler
from benchgate.host.accel import AccelProbe
from benchgate.host.procfs import CPUS, as_list, fact, field, text_of
from benchgate.host.topology import HostTopology

_APIC_BASE_MSR = 0x1B
_LONGEST_LOG = 4 << 20


def collect(
    topology: HostTopology,
    *,
    qemu: Qemu | None = None,
    probes: Iterable[AccelProbe] = (),
    pins: Iterable[int] = (),
    root: Path = Path("/"),
) -> dict[str, Any]:
    """Every field of the envelope. The names are stable."""
    return of_host(topology, pins, root) | of_programs(qemu, probes)


def of_programs(qemu: Qemu | None, probes: Iterable[AccelProbe]) -> dict[str, Any]:
    """What decides, and what boots guests."""
    return {
        "toolchain": compiler_version(),
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}",
        "qemu_version": qemu.version_text if qemu else UNAVAILABLE,
        "qemu_digest": qemu.digest if qemu else UNAVAILABLE,
        "accelerators": {probe.accel.value: _accelerator(probe) for probe in probes},
    }


def of_host(topology: HostTopology, pins: Iterable[int], root: Path = Path("/")) -> dict[str, Any]:
    """What the measurements depend on."""
    cpuinfo = text_of(root / "proc/cpuinfo") or ""
    facts: dict[str, Any] = {
        "sockets": _or_unavailable(topology.sockets),
        "cores": _or_unavailable(topology.cores),
        "threads": len(topology.online),
        "online": as_list(topology.online),
        "affinity": as_list(topology.affinity),
        "topology_source": topology.source,
        "topology_hidden": topology.hidden,
        "hypervisor": topology.hypervisor,
        "pins": list(pins),
        "cpu_model": field(cpuinfo, "model name"),
        "microcode": field(cpuinfo, "microcode"),
        "apic_mode": apic_mode(root),
        "timer_source": fact(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "timer_event": fact(root / "sys/devices/system/clockevents/clockevent0/current_device"),
        "frequency_policy": _frequency(root, topology.online[0]),
        "memory_kib": _memory(root),
        "kernel": one_line(f"{platform.release()} {platform.version()}"),
        "isolation": asdict(topology.isolation),
    }
    return facts | _firmware(root, topology.hypervisor)


def apic_mode(root: Path = Path("/")) -> str:
    """The mode in the APIC register (x2apic, xapic), else in the kernel log (physical x2apic, flat ...). An
    ordinary user may be unable to read either."""
    with contextlib.suppress(OSError, struct.error):
        descriptor = os.open(root / "dev/cpu/0/msr", os.O_RDONLY | os.O_CLOEXEC)
        try:
            (base,) = struct.unpack("<Q", os.pread(descriptor, 8, _APIC_BASE_MSR))
        finally:
            os.close(descriptor)
        return "x2apic" if base & 1 << 10 else "xapic"
    # Linux: "Switched APIC routing to: physical x2apic" (6.6 on), "... routing to physical x2apic." before.
    routed = re.search(r"Switched APIC routing to:? ([a-z0-9 ]+)", _kernel_log(root))
    return one_line(routed[1]) if routed else UNAVAILABLE


def compiler_version() -> str:
    """The first line of the compiler's version."""
    try:
        return one_line(compiler().version) or UNAVAILABLE
    except BuildError:
        return UNAVAILABLE


def _firmware(root: Path, virtual: bool) -> dict[str, str]:
    """The facts in the firmware tables (DMI). In a virtual machine they name provider and instance."""
    dmi = root / "sys/class/dmi/id"
    bios = [fact(dmi / name) for name in ("bios_vendor", "bios_version", "bios_date")]
    vendor, product = fact(dmi / "sys_vendor"), fact(dmi / "product_name")
    known = [word for word in bios if word != UNAVAILABLE]
    return {
        "firmware": " ".join(known) or UNAVAILABLE,
        "device_model": f"{vendor} {product}" if UNAVAILABLE not in (vendor, product) else UNAVAILABLE,
        "provider": vendor if virtual else UNAVAILABLE,
        "instance": product if virtual else UNAVAILABLE,
    }


def _accelerator(probe: AccelProbe) -> dict[str, Any]:
    return {
        "usable": probe.usable,
        "million_instructions_per_second": _or_unavailable(probe.figure),
        "boot_s": _or_unavailable(probe.boot_s),
        "cpu_model": _or_unavailable(probe.cpu_model),
        "reason": probe.reason,
    }


def _frequency(root: Path, cpu: int) -> str:
    """Driver and governor of the first CPU, and whether it may go above its nominal frequency."""
    folder = root / CPUS / f"cpu{cpu}" / "cpufreq"
    driver, governor = fact(folder / "scaling_driver"), fact(folder / "scaling_governor")
    if UNAVAILABLE in (driver, governor):
        return UNAVAILABLE
    boost = text_of(root / CPUS / "cpufreq/boost")
    no_turbo = text_of(root / CPUS / "intel_pstate/no_turbo")
    on = boost == "1" or no_turbo == "0"
    boosts = f"boost {'on' if on else 'off'}" if boost or no_turbo else f"boost {UNAVAILABLE}"
    return f"{driver}, {governor}, {boosts}"


def _memory(root: Path) -> int | str:
    total = re.search(r"^MemTotal:\s*(\d+) kB$", text_of(root / "proc/meminfo") or "", re.MULTILINE)
    return int(total[1]) if total else UNAVAILABLE


def _kernel_log(root: Path) -> str:
    """The kernel's log, one record per read; empty if this user may not read it."""
    log = bytearray()
    with contextlib.suppress(OSError):
        descriptor = os.open(root / "dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            while len(log) < _LONGEST_LOG and (record := os.read(descriptor, 8192)):
                log += record
        except (BlockingIOError, BrokenPipeError):
            pass  # the end, or records were overwritten meanwhile: keep what was read
        finally:
            os.close(descriptor)
    return log.decode(errors="replace")


def _or_unavailable(value: float | str | None) -> float | str:
    return UNAVAILABLE if value is None else value
