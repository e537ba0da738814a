"""Which lane decides on this host: wall time if it qualifies, else the instruction clock. Pure.

Takes the facts about the host and its QEMU, gives lanes and reasons. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.cells import Accel, Lane, Placement


def wall_lane(accel: Accel) -> Lane:
    return Lane.KVM if accel is Accel.KVM else Lane.TCG


def expected(clock: str, placement: Placement) -> Mapping[str, tuple[Lane, str]]:
    """The likely lanes, before any boot. CPUs that may be hyperthreads of one core rule out wall time."""
    wall = clock in ("wall", "both") or (clock == "auto" and placement is Placement.PHYSICAL)
    return of_kinds(clock, Lane.TCG if wall else Lane.INSN)


def of_kinds(clock: str, guests: Lane) -> Mapping[str, tuple[Lane, str]]:
    """By system kind: its lane, and the reason if it cannot run. With --clock both the lane of wall time."""
    native = "native Linux has no instruction clock" if clock == "insn" else ""
    return {"qemu": (guests, ""), "native": (Lane.NATIVE, native)}
