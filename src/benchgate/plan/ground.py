"""Finds the CPUs to pin to and the lane of each kind of system, which planning needs of the host.

Takes the host's topology and the options; gives a `Ground`. A guest's lane is wall time where the host
qualifies for it, else the instruction clock. Fails with UsageError if --cpus names a CPU that cannot be used.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.cells import Accel, Lane, Placement
from benchgate.host import topology
from benchgate.host.topology import HostTopology
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground


def wall_lane(accel: Accel) -> Lane:
    return Lane.KVM if accel is Accel.KVM else Lane.TCG


def expected(clock: str, placement: Placement) -> Mapping[str, tuple[Lane, str]]:
    """The likely lanes, before any boot. CPUs that may be hyperthreads of one core rule out wall time."""
    wall = clock in ("wall", "both") or (clock == "auto" and placement is Placement.PHYSICAL)
    return of_kinds(clock, Lane.TCG if wall else Lane.INSN)


def of_kinds(clock: str, guests: Lane) -> Mapping[str, tuple[Lane, str]]:
    """Maps a system kind to its lane (with --clock both, of wall time), and the reason if it cannot run."""
    native = "native Linux has no instruction clock" if clock == "insn" else ""
    return {"qemu": (guests, ""), "native": (Lane.NATIVE, native)}


def ground_of(
    seen: HostTopology,
    options: Options,
    lanes: Mapping[str, tuple[Lane, str]] | None = None,
    no_insn: str | None = None,
    no_machine: str = "",
) -> Ground:
    """The host's CPUs and the lanes; by default the lanes that are expected before a guest was booted.
    `no_insn` and `no_machine` are those of `Ground`."""
    if lanes is None and options.clock == "both":
        no_insn = ""
    pins = topology.choose_pins(seen, options.cpus)
    every = topology.choose_pins(seen, options.cpus, include_smt=True)
    placement = topology.placement(seen, pins, len(pins))
    usual = lanes or expected(options.clock, placement)
    return Ground(pins, every, usual, placement, no_insn, no_machine=no_machine)
