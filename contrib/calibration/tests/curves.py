"""Curves of made-up memory systems, by arithmetic that has nothing to do with how they are read."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from contrib.calibration.curve import CurvePoint

KIB, MIB = 1 << 10, 1 << 20
Caches = Sequence[tuple[int, float]]
"""(size, latency), from the innermost."""
THREE: Caches = ((32 * KIB, 1.1), (1 * MIB, 3.8), (16 * MIB, 14.0))
MEMORY_NS = 95.0


def sizes(largest: int = 128 * MIB, an_octave: int = 4) -> list[int]:
    result = {round(4 * KIB * 2 ** (n / an_octave)) // 4096 * 4096 for n in range(200)}
    return sorted(size for size in result if size <= largest)


def sharp(size: int, caches: Caches, memory_ns: float) -> float:
    """Exact LRU and a cyclic chase: an array that does not fit misses always."""
    return next((ns for capacity, ns in caches if size <= capacity), memory_ns)


def gradual(size: int, caches: Caches, memory_ns: float) -> float:
    """A line is in a cache with the probability capacity / size, whatever is in the others."""
    left, total = 1.0, 0.0
    for capacity, ns in caches:
        hit = min(1.0, capacity / size) ** 2  # on a cycle random replacement keeps fewer than its share
        total += left * hit * ns
        left *= 1 - hit
    return total + left * memory_ns


def exclusive(caches: Caches) -> Caches:
    """What such caches hold together if no line is in two of them."""
    whole, result = 0, []
    for capacity, ns in caches:
        whole += capacity
        result.append((whole, ns))
    return result


def curve(
    caches: Caches = THREE,
    memory_ns: float = MEMORY_NS,
    shape: Callable[[int, Caches, float], float] = sharp,
    an_octave: int = 4,
) -> list[CurvePoint]:
    result = [(size, shape(size, caches, memory_ns)) for size in sizes(an_octave=an_octave)]
    return [CurvePoint(size, ns, ns) for size, ns in result]


def disturbed(points: Sequence[CurvePoint], seed: int, share: float = 0.1) -> list[CurvePoint]:
    """Each point up to 4% slower, and some of them several times."""
    chance = random.Random(seed)

    def one(point: CurvePoint) -> CurvePoint:
        ns = point.ns * (1 + 0.04 * chance.random())
        ns *= 1 + 4 * chance.random() if chance.random() < share else 1
        return CurvePoint(point.size, ns, ns * 1.5)

    return [one(point) for point in points]
