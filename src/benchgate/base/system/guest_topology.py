"""Makes the QEMU options that tell a guest of its machine's sockets, clusters and nodes. Pure.

Takes a system, which may be on a machine, and a CPU count; gives a `GuestTopology`, and the guest's memory by
node. Fails with ValueError if the memory cannot be divided among the nodes.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchgate.base.system.arch import AARCH64, RISCV64, X86_64, Architecture
from benchgate.base.system.machines import MOST_MEMORY, Machine, MemoryRange, memory_ranges
from benchgate.base.system.qemu import smp_option
from benchgate.base.system.systems import System

NEAR = 10
"""The distance of a node to itself, by definition of ACPI."""
FARTHEST = 254
_RAM_BASE = {X86_64.name: 0, RISCV64.name: 0x8000_0000, AARCH64.name: 0x4000_0000}
"""The address at which a guest's memory begins on the machine types of _TYPES."""
_TYPES = re.compile(r"(pc|q35|microvm|virt)\b")
_WITHOUT_NODES = re.compile(r"microvm\b")
_CLUSTERS = {X86_64.name: "dies", AARCH64.name: "clusters"}
"""QEMU's word for the CPUs that share a cache, where it has one."""
_SIZE = re.compile(r"([0-9]{1,9})([KMG]?)\Z")
_SHIFT = {"": 20, "K": 10, "M": 20, "G": 30}
_LEFT_TO_US = "{n}"
"""The `qemu.smp` of a system that has no topology of its own."""
_OWN = ("-smp", "-numa")


@dataclass(frozen=True, slots=True)
class GuestTopology:
    smp: str
    """The value of `-smp`."""
    arguments: tuple[str, ...] = ()


def memory_of(system: System) -> tuple[MemoryRange, ...]:
    """The guest-physical ranges of the nodes; none on a machine without a memory system."""
    machine = system.memory_machine
    return () if machine is None else memory_ranges(machine, *_memory_place(system))


def backends_of(system: System, cpus: int) -> tuple[MemoryRange, ...]:
    """The guest-physical ranges of QEMU's memory backends: one for each node of which the guest is told.
    ValueError: they are not known."""
    if topology_of(system, cpus).arguments:
        return memory_of(system)
    first, size = _memory_place(system)
    if size > MOST_MEMORY:
        raise ValueError(f"a guest with more than {MOST_MEMORY >> 20} MiB may have a hole in its addresses")
    return (MemoryRange(first, size, 0),)


def _memory_place(system: System) -> tuple[int, int]:
    """The guest-physical address of the first byte, and the size."""
    qemu = system.qemu
    if not _TYPES.match(qemu.machine):
        name = qemu.machine.partition(",")[0]
        raise ValueError(f"where the guest's memory is on QEMU's machine type {name} is not known")
    match = _SIZE.match(qemu.memory.upper())
    if match is None:
        raise ValueError(f"qemu.memory {qemu.memory} is not a size such as 512M")
    return _RAM_BASE[system.arch.name], int(match[1]) << _SHIFT[match[2]]


def is_told(system: System) -> bool:
    """Whether the guest is told of its machine. A system with its own `qemu.smp`, or with nodes of its own in
    `qemu.arguments`, keeps them; the memory system is the machine's all the same."""
    own = system.qemu.smp != _LEFT_TO_US or any(word in _OWN for word in system.qemu.arguments)
    return system.memory_machine is not None and not own and not _WITHOUT_NODES.match(system.qemu.machine)


def topology_of(system: System, cpus: int) -> GuestTopology:
    """The topology of the first `cpus` CPUs of its machine."""
    machine = system.memory_machine
    if machine is None or not is_told(system):
        return GuestTopology(smp_option(system.qemu.smp, cpus))
    nodes = _nodes(machine, system.arch, cpus, memory_of(system))
    return GuestTopology(_smp(machine, system.arch, cpus), tuple(nodes))


def _smp(machine: Machine, arch: Architecture, cpus: int) -> str:
    """QEMU makes only sockets of one size: if these CPUs fill a socket in part, the guest sees smaller ones,
    each inside one of the machine's."""
    cores = math.gcd(*_sizes(machine.sockets, cpus))
    together = math.gcd(cores, *_sizes(machine.clusters, cpus))
    words = [str(cpus), f"sockets={cpus // cores}"]
    if together < cores and arch.name in _CLUSTERS:
        words.append(f"{_CLUSTERS[arch.name]}={cores // together}")
        cores = together
    return ",".join([*words, f"cores={cores}", "threads=1"])


def _sizes(groups: Sequence[tuple[int, ...]], cpus: int) -> list[int]:
    """How many of the first CPUs are in each group that has any."""
    counts = (sum(cpu < cpus for cpu in group) for group in groups)
    return [count for count in counts if count]


def _nodes(machine: Machine, arch: Architecture, cpus: int, memory: Sequence[MemoryRange]) -> Iterator[str]:
    groups = [[cpu for cpu in node.cpus if cpu < cpus] for node in machine.nodes]
    if len(groups) == 1 or (arch is RISCV64 and not all(groups)):
        return  # QEMU's RISC-V machine takes no node without CPUs
    for number, (group, memory_range) in enumerate(zip(groups, memory, strict=True)):
        yield from ("-object", f"memory-backend-ram,id=node{number},size={memory_range.size}")
        held = f",cpus={group[0]}-{group[-1]}" if group else ""
        yield from ("-numa", f"node,nodeid={number},memdev=node{number}{held}")
    far = min(FARTHEST, max(NEAR + 1, round(NEAR * machine.memory_remote_ns / machine.memory_local_ns)))
    for source, target in itertools.combinations(range(len(groups)), 2):
        value = machine.distances[source][target] if machine.distances else far
        yield from ("-numa", f"dist,src={source},dst={target},val={value}")
