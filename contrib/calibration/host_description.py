"""What the host tells of its memory system: caches and who shares them, nodes, whether it is virtual.

Takes /sys and /proc (below `root`, which tests replace) and the topology; gives frozen values. Nothing fails:
what the host does not tell is missing. A virtual machine may tell what is not so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.text import one_line
from benchgate.host.caches import CacheDescription, caches
from benchgate.host.procfs import cpu_list_of, text_of
from benchgate.host.topology import HostTopology

_NODES = Path("sys/devices/system/node")


@dataclass(frozen=True, slots=True)
class HostDescription:
    cpus: tuple[int, ...]
    """The CPUs that may be used, in ascending order."""
    caches: tuple[CacheDescription, ...]
    """The caches of the first of these CPUs."""
    l3_groups: tuple[tuple[int, ...], ...]
    """The usable CPUs by the L3 that they are told to share; empty if one has none."""
    sockets: tuple[tuple[int, ...], ...]
    """The usable CPUs by socket; empty if the host does not tell."""
    cores: tuple[tuple[int, ...], ...]
    """The usable CPUs by core: those of one core are hyperthreads."""
    nodes: tuple[tuple[int, ...], ...]
    """The usable CPUs by node; empty if the host does not tell."""
    is_virtual: bool
    model: str
    """The name of the processor; empty if the host does not tell."""

    def cache(self, level: int, kind: str) -> CacheDescription | None:
        fitting = (cache for cache in self.caches if cache.level == level and cache.kind in (kind, "Unified"))
        return next(fitting, None)


def read(topology: HostTopology, root: Path = Path("/")) -> HostDescription:
    cpus = topology.usable
    known = [topology.cpu(cpu) for cpu in cpus]
    return HostDescription(
        cpus=cpus,
        caches=caches(cpus[0], root) if cpus else (),
        l3_groups=_grouped(cpus, [_l3_of(cpu, root) for cpu in cpus]),
        sockets=_grouped(cpus, [_only(one.socket if one else None) for one in known]),
        cores=_grouped(cpus, [_only(one.core if one else cpu) for cpu, one in zip(cpus, known, strict=True)]),
        nodes=_nodes(cpus, root),
        is_virtual=topology.hypervisor,
        model=_model(root),
    )


def _l3_of(cpu: int, root: Path) -> tuple[int, ...]:
    return next((cache.shared for cache in caches(cpu, root) if cache.level == 3), ())


def _only(number: int | None) -> tuple[int, ...]:
    return () if number is None else (number,)


def _grouped(cpus: tuple[int, ...], labels: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """The CPUs with equal labels, each group in ascending order; empty if one has no label."""
    if not all(labels):
        return ()
    groups: dict[tuple[int, ...], list[int]] = {}
    for cpu, label in zip(cpus, labels, strict=True):
        groups.setdefault(label, []).append(cpu)
    return tuple(tuple(group) for group in groups.values())


def _nodes(cpus: tuple[int, ...], root: Path) -> tuple[tuple[int, ...], ...]:
    """The usable CPUs by node; none unless each CPU is on one."""
    lists = [cpu_list_of(node / "cpulist") or () for node in sorted((root / _NODES).glob("node[0-9]*"))]
    usable = [tuple(cpu for cpu in cpus if cpu in of_node) for of_node in lists]
    nodes = tuple(sorted(filter(None, usable)))
    return nodes if {cpu for node in nodes for cpu in node} == set(cpus) else ()


def _model(root: Path) -> str:
    match = re.search(r"^model name\s*:(.*)$", text_of(root / "proc/cpuinfo") or "", re.MULTILINE)
    return one_line(match[1], 80) if match else ""
