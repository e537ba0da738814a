"""Makes a list of stalls, or a number, smaller while it still fails. Pure; does not fail.

Each search is a generator: it yields candidates in the order of preference, is sent the number of the first
one that fails (None: none of them), and returns what is left. The caller may try several candidates at once.
`ddmin` is delta debugging (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input, IEEE TSE
28, 2002): each element of the list that it returns is needed. `least` and `farthest` search a number between
one that fails and one that need not. If failing is not monotone, they return a number that fails next to one
that does not, which need not be the smallest.

`in_time`, `listed`, `moved`, `lengthened` and `probes` make the lists: the stalls of a run as points, as
short as it can be without another run, and the same with one of them changed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from benchgate.base.exploration import MOST_NS, StallPoint

T = TypeVar("T")
ListSearch = Generator[list[tuple[T, ...]], int | None, tuple[T, ...]]
Search = Generator[list[int], int | None, int]
PARTS = 3
"""How many numbers are tried at once."""


def ddmin(failing: Sequence[T]) -> ListSearch[T]:
    left, parts = tuple(failing), 2
    if left and (yield [()]) == 0:
        return ()
    while len(left) > 1:
        pieces = _pieces(left, parts)
        rests = [_without(pieces, n) for n in range(len(pieces))] if parts > 2 else []
        candidates = [*pieces, *rests]
        found = yield candidates
        if found is None:
            if parts >= len(left):
                break
            parts = min(2 * parts, len(left))
            continue
        left = candidates[found]
        parts = 2 if found < len(pieces) else max(parts - 1, 2)
    return left


def _pieces(whole: tuple[T, ...], parts: int) -> list[tuple[T, ...]]:
    """Nearly equal, none empty."""
    ends = [len(whole) * n // parts for n in range(parts + 1)]
    return [whole[a:b] for a, b in pairwise(ends) if a < b]


def _without(pieces: Sequence[tuple[T, ...]], at: int) -> tuple[T, ...]:
    return tuple(one for n, piece in enumerate(pieces) if n != at for one in piece)


def least(failing: int, above: int = 0, fineness: int = 32) -> Search:
    """The least number that fails, above one that does not; up to a `fineness`th of it."""
    low, high = above, failing
    while high - low > max(1, high // fineness):
        step = (high - low) / (PARTS + 1)
        tried = sorted({low + max(1, int(step * n)) for n in range(1, PARTS + 1)} - {high})
        found = yield tried
        if found is None:
            low = tried[-1]
        else:
            low, high = (tried[found - 1] if found else low), tried[found]
    return high


def farthest(most: int) -> Search:
    """How far something can be moved and still fails: 0 if not at all, `most` at most."""
    reached, step = 0, 1
    while reached < most and (yield [min(step, most)]) == 0:
        reached = min(step, most)
        step *= 2
    low, high = reached, min(step, most)
    while high - low > 1:
        middle = (low + high) // 2
        if (yield [middle]) == 0:
            low = middle
        else:
            high = middle
    return low if reached < most else most


def in_time(pieces: Iterable[StallPoint]) -> tuple[StallPoint, ...]:
    """The stalls in the order in which they were made. A vCPU that was stalled again at one instruction was
    stalled once, for longer."""
    lengths: dict[tuple[int, int], int] = {}
    for piece in pieces:
        if piece.ns:
            key = piece.vcpu, piece.instruction
            lengths[key] = lengths.get(key, 0) + piece.ns
    return tuple(StallPoint(vcpu, at, min(ns, MOST_NS)) for (vcpu, at), ns in lengths.items())


def listed(points: Iterable[StallPoint]) -> tuple[StallPoint, ...]:
    """The points in the order of a file: at one instruction probes first, and pieces as they are given."""
    return tuple(sorted(points, key=lambda point: (point.vcpu, point.instruction, point.ns > 0)))


def moved(points: Sequence[StallPoint], at: int, by: int) -> tuple[StallPoint, ...] | None:
    """The list with one point so many instructions later; None if there is no such place."""
    point = points[at]
    if point.instruction + by < 0:
        return None
    later = StallPoint(point.vcpu, point.instruction + by, point.ns)
    return listed([*points[:at], later, *points[at + 1 :]])


def lengthened(points: Sequence[StallPoint], at: int, ns: int) -> tuple[StallPoint, ...]:
    """The list with another length for one point."""
    point = points[at]
    return listed([*points[:at], StallPoint(point.vcpu, point.instruction, ns), *points[at + 1 :]])


def probes(vcpus: Iterable[int], begin: int, end: int, most: int) -> tuple[StallPoint, ...]:
    """Probes of each vCPU, evenly over these instructions, at most so many for each."""
    step = max(1, -(-(end - begin) // most))
    return tuple(StallPoint(vcpu, at, 0) for vcpu in vcpus for at in range(begin, end, step))
