"""A machine: what a file of fixtures/machines/ says, as types.

Takes the values that plan/machinefile.py has read and checked; gives a frozen `Machine`, which has a memory
system, or a `BareMachine` without one. `memory_ranges` fails with ValueError if a guest's memory cannot be
divided among the nodes. None stands for the machine `ideal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

IDEAL = "ideal"
"""The machine on which every instruction takes 1 ns."""
FULL_CAPACITY = 1024
"""The capacity of a CPU on which an instruction takes 1 ns (CLOCK_FULL in insn/c/clock/clock.h)."""
NODE_STEP = 2 << 20
"""A node's memory begins and ends at a multiple of this, as QEMU's memory backends do on every
architecture."""
MOST_MEMORY = 2 << 30
"""If a guest has more memory, QEMU's x86 machines leave a hole in the guest-physical addresses."""

LONGEST_NS = 1_000_000
"""The longest time in a machine's file."""
SLOWEST_GB_S, FASTEST_GB_S = 0.001, 10_000
"""The range of a limited bandwidth."""


@dataclass(frozen=True, slots=True)
class Cache:
    size: int
    """The size in bytes."""
    ways: int
    latency_ns: int
    """The time from a load to the use of its value, as a pointer chase measures it. It includes the
    instruction's own 1 ns."""

    def sets(self, line: int) -> int:
        return self.size // (self.ways * line)


@dataclass(frozen=True, slots=True)
class Node:
    cpus: tuple[int, ...]
    share: int
    """Its part of the guest's memory, in percent."""


@dataclass(frozen=True, slots=True)
class Tlb:
    entries: int
    ways: int
    walk_ns: int


@dataclass(frozen=True, slots=True)
class MemoryRange:
    """Guest-physical addresses that belong to one node."""

    first: int
    size: int
    node: int


@dataclass(frozen=True, slots=True)
class Machine:
    name: str
    source: str
    """The source of its figures."""
    cpus: int
    line: int
    l1d: Cache
    l1i: Cache
    l2: Cache
    l3: Cache | None
    """The L3, of which each cluster has one; None if there is none."""
    clusters: tuple[tuple[int, ...], ...]
    """The CPUs that share an L3, or would if there were one. They and the sockets partition the CPUs."""
    sockets: tuple[tuple[int, ...], ...]
    nodes: tuple[Node, ...]
    memory_local_ns: int
    memory_remote_ns: int
    transfer_cluster_ns: int
    """The time to get a line from another CPU of the same cluster."""
    transfer_across_ns: int
    """The time to get a line from another cluster of the socket."""
    transfer_socket_ns: int
    """The time to get a line from another socket."""
    atomic_ns: int
    interrupt_ns: int
    bandwidth_gb_s: float
    """The bandwidth of each node's memory; 0 for no limit."""
    tlb: Tlb | None
    distances: tuple[tuple[int, ...], ...]
    """What the guest is told of how far each node is from each; empty for the ratio of the latencies."""
    strict: bool
    """Whether accesses to memory are kept in order, whatever that costs."""
    capacities: tuple[int, ...]
    """As of a BareMachine; empty if an instruction takes 1 ns on every CPU."""
    file: Path
    text: str
    """The text of the file."""
    digest: str
    """The SHA-256 of what the file means, without its name and comments."""

    def cluster_of(self, cpu: int) -> int:
        return _place(self.clusters, cpu)

    def socket_of(self, cpu: int) -> int:
        return _place(self.sockets, cpu)

    def node_of(self, cpu: int) -> int:
        return _place([node.cpus for node in self.nodes], cpu)

    def shared_bytes(self, cpus: int) -> int | None:
        """The total size of the L3s of the first CPUs; None if there is no L3."""
        if self.l3 is None:
            return None
        return self.l3.size * len({self.cluster_of(cpu) for cpu in range(cpus)})

    @property
    def ps_per_line(self) -> int:
        """The time for which one line occupies its node's memory; 0 if the bandwidth has no limit."""
        return round(self.line * 1000 / self.bandwidth_gb_s) if self.bandwidth_gb_s else 0


@dataclass(frozen=True, slots=True)
class BareMachine:
    """A machine without a memory system, whose CPUs may differ in speed."""

    name: str
    source: str
    capacities: tuple[int, ...]
    """Of each CPU: an instruction takes FULL_CAPACITY / capacity ns there."""
    file: Path
    text: str
    digest: str

    @property
    def cpus(self) -> int:
        return len(self.capacities)


AnyMachine = Machine | BareMachine


def _place(groups: Sequence[tuple[int, ...]], cpu: int) -> int:
    return next(number for number, group in enumerate(groups) if cpu in group)


def on_machine(system: str, machine: str) -> str:
    """The name of a system on a machine: `linux-desktop8`, `kernel-desktop8.sched-rr`."""
    name, dot, settings = system.partition(".")
    return f"{name}-{machine}{dot}{settings}"


def machine_in(system: str) -> str:
    """The machine in a system's name; empty for ideal. No other part before the first dot has a `-`."""
    return system.partition(".")[0].partition("-")[2]


def unit_on(system: str, unit: str) -> str:
    """How reports call a unit of the instruction clock. On any machine but `ideal` an instruction may take
    longer than 1 ns, so the clock counts ns there and not instructions."""
    return "ns" if unit == "insn" and machine_in(system) else unit


def off_machine(system: str) -> str:
    """The name of a system without its machine: `linux`, `kernel.sched-rr`."""
    name, dot, settings = system.partition(".")
    return f"{name.partition('-')[0]}{dot}{settings}"


def memory_ranges(machine: Machine, first: int, size: int) -> tuple[MemoryRange, ...]:
    """A guest's memory, which begins at `first` and has no hole, divided among the nodes by their shares; the
    last node gets the rest."""
    if size > MOST_MEMORY:
        raise ValueError(f"a guest has at most {MOST_MEMORY >> 20} MiB there, not {size >> 20}")
    ranges: list[MemoryRange] = []
    used = 0
    for number, node in enumerate(machine.nodes):
        is_last = number == len(machine.nodes) - 1
        part = size - used if is_last else size * node.share // 100 // NODE_STEP * NODE_STEP
        if part < NODE_STEP:
            raise ValueError(f"{size >> 20} MiB of memory are too few for its {len(machine.nodes)} nodes")
        ranges.append(MemoryRange(first + used, part, number))
        used += part
    return tuple(ranges)
