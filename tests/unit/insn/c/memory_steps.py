"""Short traces for the memory model, and what it gives for them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.memory_reference import Level, Place, Range, Shape
from tests.memorykit import CLASSES, STEP, Figures, Model

FAR = 1_000_000
"""ns between two accesses that must not meet."""
MEMORY = 1 << 30

READ, FETCH, WRITE, ATOMIC = range(4)
Access = tuple[int, int, int]
"""CPU, kind, line."""


def machine(
    clusters: str = "0",
    *,
    sockets: str = "",
    l1: Level = Level(16, 4, 1),  # noqa: B008 (frozen)
    l3: Level | None = None,
    l2: Level = Level(64, 8, 5),  # noqa: B008 (frozen)
    bandwidth: int = 0,
) -> Shape:
    """4 KiB of L1, 32 KiB of L2; a digit for each CPU's cluster and socket. Each socket is a node with half
    of the memory. Every latency is another one."""
    sockets = sockets or "0" * len(clusters)
    cpus = tuple(Place(int(c), int(s), int(s)) for c, s in zip(clusters, sockets, strict=True))
    ranges = (Range(0, MEMORY // 2, 0), Range(MEMORY // 2, MEMORY // 2, 1))
    return Shape(l1, l1, l2, l3, cpus, ranges, cluster=20, across=61, socket=122, bandwidth=bandwidth)


@dataclass(frozen=True)
class Given:
    stalls: list[int]
    lates: list[int]
    books: dict[int, Figures]
    """The books of each CPU."""
    order: Figures

    def total(self, name: str) -> int:
        return sum(book[name] for book in self.books.values())

    def served(self) -> dict[str, int]:
        """How many accesses each class has, of all CPUs; those that have none are left out."""
        return {name: count for name in CLASSES if (count := self.total(f"count {name}"))}


def give(
    model: ctypes.CDLL,
    folder: Path,
    shape: Shape,
    accesses: Sequence[Access],
    times: Sequence[int] = (),
    *,
    quick: bool = True,
) -> Given:
    """Runs accesses through the model; they are FAR apart if no times are given."""
    steps = np.zeros(len(accesses), STEP)
    steps["cpu"], steps["op"], steps["at"] = np.array(accesses, "u8").T
    steps["now"] = times if len(times) else np.arange(len(accesses)) * FAR
    with Model(model, folder, shape.text()) as memory:
        stalls, lates, _ = memory.run(steps, quick=quick)
        books = {cpu: memory.books(0, cpu) for cpu in range(len(shape.cpus))}
        return Given(stalls, lates, books, memory.order(0))
