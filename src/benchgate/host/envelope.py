"""The envelope: all that is true of this machine while something is measured on it.

Takes /proc, /sys and /dev (below `root`), and what others found out (topology, QEMU, accelerators); gives a
plain dict that goes to session.json as it is. Nothing fails: what the host does not say is "unavailable".
Asks no network: a provider is what the machine's own firmware tables say.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchgate.errors import BuildError
from benchgate.host.accel import AccelProbe
from benchgate.host.facts import UNAVAILABLE, as_list, printable, text_of
from benchgate.host.probe import Emulator
from benchgate.host.topology import Topology
from benchgate.toolchain import compiler

_CPUS = Path("sys/devices/system/cpu")
_APIC_BASE_MSR = 0x1B
_LONGEST_LOG = 4 << 20


def collect(
    topology: Topology,
    *,
    qemu: Emulator | None = None,
    probes: Iterable[AccelProbe] = (),
    pins: Iterable[int] = (),
    root: Path = Path("/"),
) -> dict[str, Any]:
    """Every field of the design's envelope, under stable names."""
    found: dict[str, Any] = {
        "sockets": _or_unavailable(topology.sockets),
        "cores": _or_unavailable(topology.cores),
        "threads": len(topology.online),
        "online": as_list(topology.online),
        "affinity": as_list(topology.affinity),
        "topology_source": topology.source,
        "topology_hidden": topology.hidden,
        "hypervisor": topology.hypervisor,
        "pins": list(pins),
        "cpu_model": _cpuinfo(root, "model name"),
        "microcode": _cpuinfo(root, "microcode"),
        "apic_mode": apic_mode(root),
        "timer_source": _said(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "timer_event": _said(root / "sys/devices/system/clockevents/clockevent0/current_device"),
        "frequency_policy": _frequency(root, topology.online[0]),
        "memory_kib": _memory(root),
        "kernel": printable(f"{platform.release()} {platform.version()}"),
        "toolchain": compiler_version(),
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}",
        "qemu_version": ".".join(map(str, qemu.version)) if qemu else UNAVAILABLE,
        "qemu_digest": qemu.digest if qemu else UNAVAILABLE,
    }
    isolation = topology.isolation
    found["isolation"] = {name: getattr(isolation, name) for name in isolation.__slots__}
    found["accelerators"] = {probe.accel.value: _accelerator(probe) for probe in probes}
    return found | _firmware(root, topology.hypervisor)


def apic_mode(root: Path = Path("/")) -> str:
    """What the register says (x2apic, xapic), else the kernel log (physical x2apic, flat ...); both may be
    closed to users."""
    with contextlib.suppress(OSError, struct.error):
        descriptor = os.open(root / "dev/cpu/0/msr", os.O_RDONLY | os.O_CLOEXEC)
        try:
            (base,) = struct.unpack("<Q", os.pread(descriptor, 8, _APIC_BASE_MSR))
        finally:
            os.close(descriptor)
        return "x2apic" if base & 1 << 10 else "xapic"
    # Linux: "Switched APIC routing to: physical x2apic" (6.6 on), "... routing to physical x2apic." before.
    routed = re.search(r"Switched APIC routing to:? ([a-z0-9 ]+)", _kernel_log(root))
    return printable(routed[1]) if routed else UNAVAILABLE


def compiler_version() -> str:
    """The compiler's own first line."""
    try:
        return printable(compiler().version) or UNAVAILABLE
    except BuildError:
        return UNAVAILABLE


def _firmware(root: Path, virtual: bool) -> dict[str, str]:
    """What the firmware's tables (DMI) say; in a virtual machine they name the provider and the instance."""
    dmi = root / "sys/class/dmi/id"
    bios = [_said(dmi / name) for name in ("bios_vendor", "bios_version", "bios_date")]
    vendor, product = _said(dmi / "sys_vendor"), _said(dmi / "product_name")
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
    folder = root / _CPUS / f"cpu{cpu}" / "cpufreq"
    driver, governor = _said(folder / "scaling_driver"), _said(folder / "scaling_governor")
    if UNAVAILABLE in (driver, governor):
        return UNAVAILABLE
    boost = text_of(root / _CPUS / "cpufreq/boost")
    no_turbo = text_of(root / _CPUS / "intel_pstate/no_turbo")
    on = boost == "1" or no_turbo == "0"
    told = f"boost {'on' if on else 'off'}" if boost or no_turbo else f"boost {UNAVAILABLE}"
    return f"{driver}, {governor}, {told}"


def _memory(root: Path) -> int | str:
    total = re.search(r"^MemTotal:\s*(\d+) kB$", text_of(root / "proc/meminfo") or "", re.MULTILINE)
    return int(total[1]) if total else UNAVAILABLE


def _cpuinfo(root: Path, field: str) -> str:
    text = text_of(root / "proc/cpuinfo") or ""
    match = re.search(rf"^{field}\s*:\s*(.+)$", text, re.MULTILINE)
    return printable(match[1]) if match else UNAVAILABLE


def _kernel_log(root: Path) -> str:
    """The kernel's log, a record a read; empty where this user may not read it."""
    found = bytearray()
    with contextlib.suppress(OSError):
        descriptor = os.open(root / "dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            while len(found) < _LONGEST_LOG and (record := os.read(descriptor, 8192)):
                found += record
        except (BlockingIOError, BrokenPipeError):
            pass  # its end, or it was overwritten as we read: what came is good
        finally:
            os.close(descriptor)
    return found.decode(errors="replace")


def _said(path: Path) -> str:
    return printable(text_of(path) or "") or UNAVAILABLE


def _or_unavailable(value: float | str | None) -> float | str:
    return UNAVAILABLE if value is None else value
