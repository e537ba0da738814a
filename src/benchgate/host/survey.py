"""Collects the facts about this host's CPUs that doctor and the planner need, by running probe guests.

Takes a QEMU, the topology and pins; gives a `fitness.Host`. Fails with HostError or BuildError if a probe
guest cannot be built, or fails while capacity is measured. The caller must hold the measuring lock, because
probe guests load every pinned CPU.
"""

from __future__ import annotations

from collections.abc import Collection

from benchgate.base.cells import Accel
from benchgate.base.qemu import Qemu
from benchgate.host import accel, capacity
from benchgate.host.fitness import Host
from benchgate.host.topology import Topology


def survey(
    qemu: Qemu, topology: Topology, pins: tuple[int, ...], counts: Collection[int], *, fresh: bool = False
) -> Host:
    """Probes both accelerators, and measures the capacity of usable ones at the counts that fit the pins."""
    # TCG first, because KVM is compared with it.
    probes = {one: accel.probe(qemu, one, fresh=fresh) for one in (Accel.TCG, Accel.KVM)}
    capacities = {
        (found.accel, n): capacity.measure_capacity(qemu, found, pins, n)
        for found in probes.values()
        if found.usable
        for n in sorted(set(counts))
        if 1 < n <= len(pins)
    }
    return Host(topology, pins, {one: probes[one] for one in (Accel.KVM, Accel.TCG)}, capacities)
