"""Writes a machine as the shape file that the QEMU plugin reads (c/memory/memory_shape.c). Pure.

Takes a `Machine`, a number of CPUs and the guest's memory; gives text. Fails with ValueError if the machine
has fewer CPUs, or if the memory cannot be divided among its nodes. `places_in` reads from such a text, which
is untrusted, where the CPUs are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.base.errors import VerifyError
from benchgate.base.system.guest_topology import memory_of
from benchgate.base.system.machines import Cache, Machine, MemoryRange
from benchgate.base.system.systems import System

VERSION = 1
FILE = "machine.shape"
"""The file's name in a run's folder."""
_CPU = re.compile(r"^cpu ([0-9]{1,4}) ([0-9]{1,4}) ([0-9]{1,4}) ([0-9]{1,4})$", re.MULTILINE)


def shape_of(system: System, cpus: int) -> str:
    """The shape of a guest's machine; empty for one without a memory system."""
    machine = system.memory_machine
    return "" if machine is None else shape(machine, cpus, memory_of(system))


def capacities_of(system: System, cpus: int) -> str:
    """What the plugin is told of CPUs of different speed; empty if the machine says nothing of them."""
    return "" if system.machine is None else capacities_text(system.machine.capacities[:cpus])


def capacities_text(capacities: Sequence[int]) -> str:
    return ":".join(map(str, capacities))


def shape(machine: Machine, cpus: int, memory: Sequence[MemoryRange]) -> str:
    """The shape of the machine's first `cpus` CPUs."""
    if cpus > machine.cpus:
        raise ValueError(f"machine {machine.name} has {machine.cpus} CPUs, not {cpus}")
    tlb = machine.tlb
    lines = (
        f"benchgate-machine {VERSION}",
        f"name {machine.name}",
        f"cpus {cpus}",
        f"line {machine.line}",
        *(
            f"{name} {_cache(cache, machine.line)}"
            for name, cache in (
                ("l1d", machine.l1d),
                ("l1i", machine.l1i),
                ("l2", machine.l2),
                ("l3", machine.l3),
            )
        ),
        *(
            f"cpu {cpu} {machine.cluster_of(cpu)} {machine.socket_of(cpu)} {machine.node_of(cpu)}"
            for cpu in range(cpus)
        ),
        *(f"memory {memory_range.first} {memory_range.size} {memory_range.node}" for memory_range in memory),
        f"local_ns {machine.memory_local_ns}",
        f"remote_ns {machine.memory_remote_ns}",
        f"transfer_cluster_ns {machine.transfer_cluster_ns}",
        f"transfer_across_ns {machine.transfer_across_ns}",
        f"transfer_socket_ns {machine.transfer_socket_ns}",
        f"atomic_ns {machine.atomic_ns}",
        f"interrupt_ns {machine.interrupt_ns}",
        f"bandwidth {machine.ps_per_line}",
        f"tlb {tlb.entries} {tlb.ways} {tlb.walk_ns}" if tlb else "tlb 0 0 0",
        f"order {'strict' if machine.strict else 'watch'}",
        "end",
    )
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class CpuPlace:
    cluster: int
    socket: int
    node: int


def places_in(text: str) -> tuple[CpuPlace, ...]:
    """Where each CPU is, by the text of a shape; none without one. VerifyError if CPUs are missing."""
    result = [tuple(map(int, match.groups())) for match in _CPU.finditer(text)]
    if [one[0] for one in result] != list(range(len(result))) or bool(result) != bool(text):
        raise VerifyError(f"{FILE} does not say where each CPU is")
    return tuple(CpuPlace(*one[1:]) for one in result)


def _cache(cache: Cache | None, line: int) -> str:
    return f"{cache.sets(line)} {cache.ways} {cache.latency_ns}" if cache else "0 0 0"
