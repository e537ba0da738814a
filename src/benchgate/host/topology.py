"""The CPUs of this host, which of them this process may use, and how they are isolated from other work.

Takes /proc and /sys (below `root`, which tests replace) and the affinity mask; gives a frozen HostTopology,
and from it pins and their placement. Fails with UsageError for CPUs that cannot be used as pins, and with
HostError if the kernel does not report which CPUs are online.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from benchgate.base.cells import Placement
from benchgate.base.errors import HostError, UsageError
from benchgate.base.jsonfields import Between, Printable, Size
from benchgate.base.text import UNAVAILABLE
from benchgate.host.procfs import CPUS, as_list, cpu_list, cpu_list_of, number_of, text_of

MOST_CPUS = 8192
CpuNumber = Annotated[int, Between(0, MOST_CPUS - 1)]
_Shown = Annotated[str, Printable(2000)]


@dataclass(frozen=True, slots=True)
class LogicalCpu:
    number: CpuNumber
    online: bool
    socket: int | None
    siblings: Annotated[tuple[CpuNumber, ...], Size(1, MOST_CPUS)]
    """The hyperthreads of this CPU's core, including itself; only itself if the host does not report them."""

    @property
    def core(self) -> int:
        """The core's number: that of its first hyperthread."""
        return self.siblings[0]


@dataclass(frozen=True, slots=True)
class CpuIsolation:
    """How CPUs are isolated from other work. Each field is a list of CPUs, "none" or "unavailable"."""

    isolcpus: _Shown
    nohz_full: _Shown
    rcu_nocbs: _Shown
    cpuset: _Shown
    service_manager: _Shown
    """The CPUs to which process 1, and so its services, is limited."""


@dataclass(frozen=True, slots=True)
class HostTopology:
    cpus: Annotated[tuple[LogicalCpu, ...], Size(0, MOST_CPUS)]
    """Every CPU that is present, in ascending order."""
    affinity: Annotated[tuple[CpuNumber, ...], Size(0, MOST_CPUS)]
    source: _Shown
    """The source of sockets and cores: "sysfs", or "unavailable"."""
    hypervisor: bool
    isolation: CpuIsolation

    @property
    def online(self) -> tuple[int, ...]:
        return tuple(cpu.number for cpu in self.cpus if cpu.online)

    @property
    def usable(self) -> tuple[int, ...]:
        """Online and inside the affinity mask."""
        return tuple(number for number in self.online if number in self.affinity)

    @property
    def sockets(self) -> int | None:
        known = {cpu.socket for cpu in self.cpus if cpu.online}
        return None if self.source == UNAVAILABLE or None in known else len(known)

    @property
    def cores(self) -> int | None:
        if self.source == UNAVAILABLE:
            return None
        return len({cpu.core for cpu in self.cpus if cpu.online})

    @property
    def smt(self) -> bool:
        """Whether any core has more than one visible hyperthread."""
        return any(len(cpu.siblings) > 1 for cpu in self.cpus)

    @property
    def hidden(self) -> bool:
        """Whether "cores" may really be hyperthreads of one core. A hypervisor that shows hyperthreads is
        trusted; one that shows none may hide them, which cannot be detected from inside."""
        return self.source == UNAVAILABLE or (self.hypervisor and not self.smt)

    def cpu(self, number: int) -> LogicalCpu | None:
        return next((cpu for cpu in self.cpus if cpu.number == number), None)


def read(root: Path = Path("/"), affinity: Iterable[int] | None = None) -> HostTopology:
    """The topology of this host; `affinity` replaces this process's mask."""
    online = cpu_list_of(root / CPUS / "online")
    mask = tuple(sorted(os.sched_getaffinity(0) if affinity is None else affinity))
    if not online:
        # Without /sys only the mask is known. It contains online CPUs only.
        online = mask
    if not online:
        where = root / CPUS / "online"
        raise HostError(f"this host does not report which CPUs are online in {where}; mount /sys")
    present = cpu_list_of(root / CPUS / "present") or online
    cpus = tuple(_cpu(root, number, number in online) for number in sorted({*present, *online}))
    complete = all(_siblings(root, number) for number in online)
    flags = re.search(r"^flags\s*:(.*)$", text_of(root / "proc/cpuinfo") or "", re.MULTILINE)
    return HostTopology(
        cpus=cpus,
        affinity=mask,
        source="sysfs" if complete else UNAVAILABLE,
        hypervisor=bool(flags and "hypervisor" in flags[1].split())
        or (root / "sys/hypervisor/type").exists(),
        isolation=_isolation(root, online),
    )


def choose_pins(
    topology: HostTopology, requested: Sequence[int] | None = None, include_smt: bool = False
) -> tuple[int, ...]:
    """The host CPUs to pin to, in order. Default: one logical CPU per core, the cores of one socket together,
    because some firmware numbers the CPUs of two sockets in turn. With `include_smt` the other hyperthreads
    follow at the end, so that small CPU counts still use distinct cores."""
    if requested is not None:
        check_pins(topology, requested)
        return tuple(requested)
    numbers = set(topology.usable)
    usable = sorted(
        (cpu for cpu in topology.cpus if cpu.number in numbers),
        key=lambda cpu: (cpu.socket or 0, cpu.number),
    )
    first: dict[int, int] = {}
    for cpu in usable:
        first.setdefault(cpu.core, cpu.number)
    if not first:
        raise UsageError(f"no online CPU is inside this process's affinity mask. {_which(topology)}")
    pins = tuple(first.values())
    rest = tuple(cpu.number for cpu in usable if cpu.number not in pins)
    return pins + rest if include_smt else pins


def placement(topology: HostTopology, pins: Sequence[int], cpus: int) -> Placement:
    """The placement of `cpus` vCPUs or workers on the first of these pins."""
    used = tuple(pins[:cpus])
    if len(used) < cpus:
        return Placement.OVERSUBSCRIBED
    cores = [cpu.core for number in used if (cpu := topology.cpu(number))]
    if len(set(cores)) < len(cores):
        return Placement.SMT
    return Placement.VIRTUAL if topology.hidden else Placement.PHYSICAL


def isolated_by(topology: HostTopology, pins: Sequence[int]) -> tuple[str, ...]:
    """The kinds of isolation that cover all of these pins; empty: pinned, but not isolated."""
    kinds = {name: getattr(topology.isolation, name) for name in ("isolcpus", "nohz_full", "rcu_nocbs")}
    return tuple(name for name, text in kinds.items() if pins and set(pins) <= set(_listed(text)))


def check_pins(topology: HostTopology, requested: Sequence[int]) -> None:
    """UsageError if a CPU does not exist, is offline, is outside the affinity mask, or is named twice."""
    wrong = []
    for number in dict.fromkeys(requested):
        cpu = topology.cpu(number)
        if cpu is None:
            wrong.append(f"CPU {number} does not exist")
        elif not cpu.online:
            wrong.append(f"CPU {number} is offline")
        elif number not in topology.affinity:
            wrong.append(_outside(topology, number))
        if requested.count(number) > 1:
            wrong.append(f"CPU {number} is named {requested.count(number)} times")
    if not requested:
        wrong.append("no CPU is named")
    if wrong:
        raise UsageError(f"--cpus: {'; '.join(wrong)}. {_which(topology)}")


def _outside(topology: HostTopology, number: int) -> str:
    """The error for a CPU outside the mask. An isolated CPU is outside by default, so say how to use it."""
    text = f"CPU {number} is outside this process's affinity mask"
    if number in _listed(topology.isolation.isolcpus):
        wider = as_list({*topology.affinity, *_listed(topology.isolation.isolcpus)})
        text += f" because it is isolated (start with: taskset -c {wider} ...)"
    return text


def _which(topology: HostTopology) -> str:
    """The available CPUs, for the end of an error message."""
    text = f"This host has CPUs {as_list(topology.online)} online"
    offline = {cpu.number for cpu in topology.cpus} - set(topology.online)
    if offline:
        text += f" and {as_list(offline)} offline"
    return f"{text}; this process may use {as_list(topology.usable)}."


def _cpu(root: Path, number: int, online: bool) -> LogicalCpu:
    folder = root / CPUS / f"cpu{number}" / "topology"
    socket = number_of(folder / "physical_package_id")
    siblings = (_siblings(root, number) or ()) if online else ()
    # Some virtual machines report -1 for an unknown socket.
    return LogicalCpu(
        number,
        online,
        socket if socket is not None and socket >= 0 else None,
        siblings if number in siblings else (number,),
    )


def _siblings(root: Path, number: int) -> tuple[int, ...] | None:
    folder = root / CPUS / f"cpu{number}" / "topology"
    # Linux 5.3 renamed thread_siblings_list to core_cpus_list.
    return cpu_list_of(folder / "core_cpus_list") or cpu_list_of(folder / "thread_siblings_list")


def _isolation(root: Path, online: tuple[int, ...]) -> CpuIsolation:
    words = (text_of(root / "proc/cmdline") or "").split()
    status = text_of(root / "proc/1/status")
    confined = re.search(r"^Cpus_allowed_list:\s*(\S+)$", status or "", re.MULTILINE)
    manager = UNAVAILABLE
    if confined:
        manager = "none" if set(_listed(confined[1])) >= set(online) else confined[1]
    return CpuIsolation(
        isolcpus=_kernel_list(root / CPUS / "isolated", words, "isolcpus"),
        nohz_full=_kernel_list(root / CPUS / "nohz_full", words, "nohz_full"),
        rcu_nocbs=_kernel_list(None, words, "rcu_nocbs") if words else UNAVAILABLE,
        cpuset=_cpuset(root, online),
        service_manager=manager,
    )


def _kernel_list(path: Path | None, words: list[str], option: str) -> str:
    """The list in /sys, else the one on the command line. The kernel prints an empty mask as "(null)"."""
    text = text_of(path) if path else None
    if text is not None:
        return as_list(_listed(text))
    requested = next((word.partition("=")[2] for word in words if word.startswith(f"{option}=")), None)
    if requested is not None:
        # isolcpus may begin with flags: isolcpus=nohz,domain,2-3
        return ",".join(part for part in requested.split(",") if part[:1].isdigit()) or requested
    return "none" if words else UNAVAILABLE


def _cpuset(root: Path, online: tuple[int, ...]) -> str:
    """The CPUs of this process's control group; "none" if these are all CPUs."""
    groups = dict(_control_groups(root))
    v2 = root / "sys/fs/cgroup" / groups.get("", "").lstrip("/")
    v1 = root / "sys/fs/cgroup/cpuset" / groups.get("cpuset", "").lstrip("/")
    places = (v1 / "cpuset.effective_cpus", v1 / "cpuset.cpus", v2 / "cpuset.cpus.effective")
    result = next((cpus for cpus in map(cpu_list_of, places) if cpus), None)
    if result is None:
        return UNAVAILABLE
    return "none" if set(result) >= set(online) else as_list(result)


def _control_groups(root: Path) -> Iterable[tuple[str, str]]:
    """(controller, path) pairs of /proc/self/cgroup; for version 2 the controller is empty."""
    for line in (text_of(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            yield controller, path


def _listed(text: str) -> tuple[int, ...]:
    try:
        return cpu_list(text)
    except ValueError:
        return ()
