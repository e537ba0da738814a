"""The table of a machine: its caches, its CPUs, its times.

Takes a Machine; gives text for a terminal. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchgate.base.system.machines import FULL_CAPACITY, AnyMachine, BareMachine, Cache, Machine
from benchgate.base.text import visible
from benchgate.host.procfs import as_list

HIT = "a hit in the first level takes no more"


def machine_table(machine: AnyMachine) -> str:
    named = [("machine", f"{machine.name}: {visible(machine.source)}")]
    rows = named + (_cores(machine) if isinstance(machine, BareMachine) else _parts(machine))
    return "\n".join(f"{name:10} {words}" for name, words in rows)


def _cores(machine: BareMachine) -> list[tuple[str, str]]:
    return [("CPUs", f"{machine.cpus}; no memory system"), *_speeds(machine.capacities)]


def _speeds(capacities: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The CPUs by their capacity, the fastest first."""
    for capacity in sorted({*capacities}, reverse=True):
        cpus = as_list(cpu for cpu, one in enumerate(capacities) if one == capacity)
        yield f"{capacity}", f"CPUs {cpus}; one instruction takes {FULL_CAPACITY / capacity:.4g} ns"


def _parts(machine: Machine) -> list[tuple[str, str]]:
    each = HIT if machine.capacities else f"one instruction takes 1 ns; {HIT}"
    return [
        ("CPUs", f"{machine.cpus}; {each}"),
        *_speeds(machine.capacities),
        *((name, _cache(cache, machine.line)) for name, cache in _caches(machine)),
        ("clusters", _groups(machine.clusters)),
        ("sockets", _groups(machine.sockets)),
        *(
            (f"node {number}", f"CPUs {as_list(node.cpus)}, {node.share}% of the memory")
            for number, node in enumerate(machine.nodes)
        ),
        ("memory", _memory(machine)),
        ("transfer", _transfer(machine)),
        ("atomic", f"{machine.atomic_ns} ns more than a plain access"),
        ("interrupt", f"{machine.interrupt_ns} ns for the CPU that takes it"),
        ("TLB", _tlb(machine)),
    ]


def _caches(machine: Machine) -> list[tuple[str, Cache]]:
    result = [("L1d", machine.l1d), ("L1i", machine.l1i), ("L2", machine.l2)]
    return [*result, ("L3", machine.l3)] if machine.l3 else result


def _cache(cache: Cache, line: int) -> str:
    sets = f"{cache.ways} ways, {cache.sets(line):,} sets of {line} bytes"
    return f"{cache.size / 1024:,g} KiB, {sets}, {cache.latency_ns} ns"


def _groups(groups: tuple[tuple[int, ...], ...]) -> str:
    return f"{len(groups)}: {' | '.join(as_list(group) for group in groups)}"


def _memory(machine: Machine) -> str:
    far = f", {machine.memory_remote_ns} ns from another node" if len(machine.nodes) > 1 else ""
    bandwidth = machine.bandwidth_gb_s
    limit = f"{bandwidth:g} GB/s for each node" if bandwidth else "no limit of bandwidth"
    return f"{machine.memory_local_ns} ns{far}; {limit}"


def _transfer(machine: Machine) -> str:
    """Names only the distances that a pair of its CPUs has."""
    times = []
    if any(len(cluster) > 1 for cluster in machine.clusters):
        times.append(f"{machine.transfer_cluster_ns} ns within a cluster")
    if len(machine.clusters) > len(machine.sockets):
        times.append(f"{machine.transfer_across_ns} ns across clusters")
    if len(machine.sockets) > 1:
        times.append(f"{machine.transfer_socket_ns} ns across sockets")
    return ", ".join(times) or "none: there is one CPU"


def _tlb(machine: Machine) -> str:
    tlb = machine.tlb
    return f"{tlb.entries} entries, {tlb.ways} ways, {tlb.walk_ns} ns for a walk" if tlb else "none"
