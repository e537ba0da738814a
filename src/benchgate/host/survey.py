"""Finds out all that doctor and the planner ask about this host's CPUs, by running probe guests.

Takes a QEMU, the topology and pins; gives a `doctor.Host`. Fails with HostError or BuildError where a probe
guest cannot be built, or fails while capacity is measured. Call it while the measuring lock is held: it loads
every pinned CPU.
"""

from __future__ import annotations

from collections.abc import Collection

from benchgate.host import accel, capacity
from benchgate.host.doctor import Host
from benchgate.host.probe import Emulator
from benchgate.host.topology import Topology
from benchgate.model import Accel


def survey(
    qemu: Emulator, topology: Topology, pins: tuple[int, ...], counts: Collection[int], *, fresh: bool = False
) -> Host:
    """Probes both accelerators; measures each usable one's capacity at the counts that the pins allow."""
    # TCG first: KVM is held against it.
    probes = {one: accel.probe(qemu, one, fresh=fresh) for one in (Accel.TCG, Accel.KVM)}
    capacities = {
        (found.accel, n): capacity.measure(qemu, found, pins, n)
        for found in probes.values()
        if found.usable
        for n in sorted(set(counts))
        if 1 < n <= len(pins)
    }
    return Host(topology, pins, {one: probes[one] for one in (Accel.KVM, Accel.TCG)}, capacities)
