"""Which lane decides on this host: wall time where it qualifies, else the instruction clock. Pure.

Takes what was found out about the host and its QEMU, gives lanes and reasons. It does not fail.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.host.accel import AccelProbe
from benchgate.host.doctor import Fitness, Host, fitness
from benchgate.host.topology import Topology
from benchgate.insn import Level, Support
from benchgate.model import Accel, Lane, Placement

SMALLEST_GATE = 2
"""The CPU count that a wall lane must at least be able to gate."""


def wall_lane(accel: Accel) -> Lane:
    return Lane.KVM if accel is Accel.KVM else Lane.TCG


def wall_fitness(
    topology: Topology, pins: tuple[int, ...], probes: Mapping[Accel, AccelProbe], lane: Lane
) -> Fitness:
    """Whether two vCPUs on these pins are two cores. Capacity is not asked: it is taken between the runs, and
    turns a FAIL that is the host's own into INCONCLUSIVE."""
    found = fitness(Host(topology, pins, probes, {}), lane, SMALLEST_GATE, 0.0)
    if found.reason == "capacity not measured":
        return Fitness(lane, SMALLEST_GATE, True, "distinct physical cores")
    return found


def expected(clock: str, placement: Placement) -> Mapping[str, tuple[Lane, str]]:
    """Before anything was booted: wall time does not qualify where CPUs may be hyperthreads of one core."""
    wall = clock == "wall" or (clock == "auto" and placement is Placement.PHYSICAL)
    return of_kinds(clock, Lane.TCG if wall else Lane.INSN)


def of_kinds(clock: str, guests: Lane) -> Mapping[str, tuple[Lane, str]]:
    """By system kind: its lane, and why it has none."""
    native = "native Linux has no instruction clock" if clock == "insn" else ""
    return {"qemu": (guests, ""), "native": (Lane.NATIVE, native)}


def can_decide(support: Support) -> bool:
    """Counting alone leaves a guest's timers on host time, so it decides only where it is asked for."""
    return support.level is Level.FULL
