"""Whether wall time on this host can decide a gate. The rule uses probe, placement and capacity.

Takes the facts about the host's CPUs; gives a `Fitness` with its reason. A missing fact is a reason; only the
instruction clock, which needs no such host, fails with ValueError. `survey` collects the facts by running
probe guests, so its caller must hold the measuring lock; it fails with BuildError if the probe guest cannot
be built.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from benchgate.base.cells import Accel, Lane, Placement
from benchgate.base.system.qemu import Qemu
from benchgate.base.text import with_interval
from benchgate.host import accel, capacity
from benchgate.host.accel import AccelProbe
from benchgate.host.capacity import Capacity
from benchgate.host.probe import ProbeError
from benchgate.host.topology import HostTopology, placement

MARGIN = 1.05
"""The capacity's lower bound must exceed the threshold by this factor: no guest reaches the full capacity."""

THRESHOLDS: Mapping[int, float] = {2: 1.6, 4: 3.0}
"""The thresholds of the shipped gates on a wall-time lane, by CPU count."""


@dataclass(frozen=True, slots=True)
class Host:
    """The facts about this host's CPUs."""

    topology: HostTopology
    pins: tuple[int, ...]
    probes: Mapping[Accel, AccelProbe]
    capacities: Mapping[tuple[Accel, int], Capacity]
    """The capacity by accelerator and CPU count; one that was not measured is absent."""
    unmeasured: Mapping[tuple[Accel, int], str] = field(default_factory=dict)
    """Why a capacity could not be measured."""


@dataclass(frozen=True, slots=True)
class Fitness:
    """Whether a lane can decide a gate at this CPU count on this host."""

    lane: Lane
    cpus: int
    qualifies: bool
    reason: str


def fitness(host: Host, lane: Lane, cpus: int, threshold: float | None = None) -> Fitness:
    """The rule for wall-time lanes: a usable accelerator, distinct physical cores and, with a threshold,
    enough capacity to reach it. Without that capacity a verdict would describe the host, not the kernel."""
    reason = _unprobed(host, lane) or _misplaced(host, cpus)
    accel = accelerator(lane)
    shown = ""
    if not reason and accel is not None and threshold is not None:  # native has no guests
        reason = _too_small(host, accel, cpus, threshold)
        shown = "" if reason else f", capacity {host.capacities[accel, cpus].ratio:.2f}"
    return Fitness(lane, cpus, not reason, reason or f"distinct physical cores{shown}")


def accelerator(lane: Lane) -> Accel | None:
    """The accelerator of a wall-time lane; None for `native`, which has no guest."""
    if lane is Lane.INSN:
        raise ValueError("the instruction clock does not depend on the host's cores: use insn/support.py")
    return {Lane.KVM: Accel.KVM, Lane.TCG: Accel.TCG}.get(lane)


def _unprobed(host: Host, lane: Lane) -> str | None:
    accel = accelerator(lane)
    probe = host.probes.get(accel) if accel else None
    if accel is None or (probe is not None and probe.usable):
        return None
    return "not probed" if probe is None else str(probe.state)


def _misplaced(host: Host, cpus: int) -> str | None:
    return {
        Placement.OVERSUBSCRIBED: f"only {len(host.pins)} CPUs to pin to",
        Placement.SMT: "the pins are hyperthreads of one core",
        Placement.VIRTUAL: "a hypervisor may hide that these cores are hyperthreads",
    }.get(placement(host.topology, host.pins, cpus))


def _too_small(host: Host, accel: Accel, cpus: int, threshold: float) -> str | None:
    found = host.capacities.get((accel, cpus))
    if found is None:
        return "capacity not measured"  # the row `capacity` has the reason
    if found.low >= MARGIN * threshold:
        return None
    capacity = with_interval(found.ratio, found.low, found.high)
    return f"capacity {capacity} leaves no margin above {threshold:g}"


# ---- the facts, by probe guests


def survey(qemu: Qemu, topology: HostTopology, pins: tuple[int, ...], counts: Collection[int]) -> Host:
    """Probes both accelerators, and measures the capacity of usable ones at the counts that fit the pins."""
    # TCG first, because KVM is compared with it.
    probes = {one: accel.probe(qemu, one) for one in (Accel.TCG, Accel.KVM)}
    kvm_first = {one: probes[one] for one in (Accel.KVM, Accel.TCG)}
    return with_capacities(qemu, Host(topology, pins, kvm_first, {}), counts, tuple(probes))


def with_capacities(qemu: Qemu, host: Host, counts: Collection[int], accels: Collection[Accel]) -> Host:
    """The host with the capacities of these accelerators, if usable, at the counts that fit its pins."""
    capacities: dict[tuple[Accel, int], Capacity] = {}
    unmeasured: dict[tuple[Accel, int], str] = {}
    for probe in (host.probes[one] for one in accels):
        for n in sorted(set(counts)) if probe.usable else ():
            if 1 < n <= len(host.pins):
                try:
                    capacities[probe.accel, n] = capacity.measure_capacity(qemu, probe, host.pins, n)
                except ProbeError as error:
                    unmeasured[probe.accel, n] = str(error)
    return replace(host, capacities=capacities, unmeasured=unmeasured)
