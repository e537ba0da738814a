"""Collects the facts about this host's CPUs that doctor and the planner need, by running probe guests.

Takes a QEMU, the topology and pins; gives a `fitness.Host`. A capacity whose probe guests fail is missing,
with the reason. Fails with BuildError if the probe guest cannot be built. The caller must hold the measuring
lock, because probe guests load every pinned CPU.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from benchgate.base.cells import Accel
from benchgate.base.qemu import Qemu
from benchgate.host import accel, capacity
from benchgate.host.capacity import Capacity
from benchgate.host.fitness import Host
from benchgate.host.probe import ProbeFailed
from benchgate.host.topology import Topology


def survey(
    qemu: Qemu, topology: Topology, pins: tuple[int, ...], counts: Collection[int], *, fresh: bool = False
) -> Host:
    """Probes both accelerators, and measures the capacity of usable ones at the counts that fit the pins."""
    # TCG first, because KVM is compared with it.
    probes = {one: accel.probe(qemu, one, fresh=fresh) for one in (Accel.TCG, Accel.KVM)}
    kvm_first = {one: probes[one] for one in (Accel.KVM, Accel.TCG)}
    return with_capacities(qemu, Host(topology, pins, kvm_first, {}), counts, tuple(probes))


def with_capacities(qemu: Qemu, host: Host, counts: Collection[int], accels: Collection[Accel]) -> Host:
    """The host with the capacities of these accelerators, if usable, at the counts that fit its pins."""
    capacities: dict[tuple[Accel, int], Capacity] = {}
    unmeasured: dict[tuple[Accel, int], str] = {}
    for found in (host.probes[one] for one in accels):
        for n in sorted(set(counts)) if found.usable else ():
            if 1 < n <= len(host.pins):
                try:
                    capacities[found.accel, n] = capacity.measure_capacity(qemu, found, host.pins, n)
                except ProbeFailed as error:
                    unmeasured[found.accel, n] = str(error)
    return replace(host, capacities=capacities, unmeasured=unmeasured)
