"""The stalls of a run as a list of points, as short as it can be without another run. Pure.

Takes the stalls in the order in which they were made; gives points. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchgate.base.exploration import MOST_NS, StallPoint


def in_time(pieces: Iterable[StallPoint]) -> tuple[StallPoint, ...]:
    """The stalls in the order in which they were made. A vCPU that was stalled again at one instruction was
    stalled once, for longer."""
    lengths: dict[tuple[int, int], int] = {}
    for one in pieces:
        if one.ns:
            key = one.vcpu, one.instruction
            lengths[key] = lengths.get(key, 0) + one.ns
    return tuple(StallPoint(vcpu, at, min(ns, MOST_NS)) for (vcpu, at), ns in lengths.items())


def listed(points: Iterable[StallPoint]) -> tuple[StallPoint, ...]:
    """The points in the order of a file: at one instruction probes first, and pieces as they are given."""
    return tuple(sorted(points, key=lambda one: (one.vcpu, one.instruction, one.ns > 0)))


def moved(points: Sequence[StallPoint], at: int, by: int) -> tuple[StallPoint, ...] | None:
    """The list with one point so many instructions later; None if there is no such place."""
    one = points[at]
    if one.instruction + by < 0:
        return None
    later = StallPoint(one.vcpu, one.instruction + by, one.ns)
    return listed([*points[:at], later, *points[at + 1 :]])


def lengthened(points: Sequence[StallPoint], at: int, ns: int) -> tuple[StallPoint, ...]:
    """The list with another length for one point."""
    one = points[at]
    return listed([*points[:at], StallPoint(one.vcpu, one.instruction, ns), *points[at + 1 :]])


def probes(vcpus: Iterable[int], begin: int, end: int, most: int) -> tuple[StallPoint, ...]:
    """Probes of each vCPU, evenly over these instructions, at most so many for each."""
    step = max(1, -(-(end - begin) // most))
    return tuple(StallPoint(vcpu, at, 0) for vcpu in vcpus for at in range(begin, end, step))
