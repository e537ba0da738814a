"""Boots the Linux guest on a machine with memory, for cases whose cost follows from arithmetic.

`python -m tools.memory_lab latency|sharing` prints a table, `counters` another one. The first two have the
cases of tests/data/memory/memory.c. Nothing is checked here: the tests judge.
"""

from __future__ import annotations

import heapq
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.runs import Disorder
from benchgate.insn.log import AccessOrder
from tests.memory_reference import READ, WRITE, Level, Place, Range, Reference, Shape
from tools.clock_lab import Boot, chosen, lab, shape_of

KIB = 1024
SHAPE = Shape(
    l1d=Level(64, 8, 1),
    l1i=Level(64, 8, 1),
    l2=Level(512, 8, 5),
    l3=Level(4096, 16, 17),
    cpus=(Place(0, 0, 0), Place(0, 0, 0), Place(1, 0, 0), Place(2, 1, 1)),
    ranges=(Range(0, 512 << 20, 0),),
    local=83,
    remote=147,
    cluster=29,
    across=53,
    socket=127,
)
"""32 KiB, 256 KiB and 4 MiB. CPU 1 is in the cluster of CPU 0, CPU 2 in the same socket, CPU 3 in another
one; all memory is at the node of the first socket."""
CHASE, STORE, STORE_LINES = 3, 3, 4
"""Instructions a step of the loops."""
STEPS = 20_000
LINES = 64 * KIB // 64


@dataclass(frozen=True)
class Loop:
    """One timed loop: a value of a worker."""

    about: str
    worker: int
    value: int
    steps: int
    step: int
    """What a step takes, by arithmetic, in ns."""


def chase(latency: int) -> int:
    return CHASE + latency - 1


def store_lines(latency: int) -> int:
    return STORE_LINES + latency - 1


def level(about: str, worker: int, value: int, latency: int) -> Loop:
    return Loop(about, worker, value, STEPS, chase(latency))


def moves(where: str, giver: int, latency: int) -> tuple[Loop, Loop]:
    return (
        Loop(f"read what a CPU of {where} wrote", 0, 2 * giver - 2, LINES, chase(latency)),
        Loop(f"write what a CPU of {where} read too", 0, 2 * giver - 1, LINES, store_lines(latency)),
    )


@dataclass(frozen=True)
class Case:
    name: str
    pins: tuple[int, ...]
    loops: tuple[Loop, ...]


CASES = (
    Case(
        "levels",
        (0, 3),
        (
            level("chase in 16 KiB: L1", 0, 0, 1),
            level("chase in 64 KiB: L2", 0, 1, 5),
            level("chase in 1 MiB: L3", 0, 2, 17),
            level("chase in 32 MiB: memory of the own node", 0, 3, SHAPE.local),
            level("chase in 32 MiB: memory of another node", 1, 3, SHAPE.remote),
        ),
    ),
    Case(
        "moves",
        (0, 1, 2, 3),
        (
            *moves("the cluster", 1, SHAPE.cluster),
            *moves("the socket", 2, SHAPE.across),
            *moves("another socket", 3, SHAPE.socket),
        ),
    ),
)


WRITES = 3000
SHARING = (
    ("padded", (0, 1), STORE),
    ("shared", (0, 1), 2 * SHAPE.cluster),
    ("shared", (0, 3), 2 * SHAPE.socket),
    ("shared", (0, 1, 2, 3), SHAPE.cluster + SHAPE.across + 2 * SHAPE.socket),
    ("increments", (0, 1), 3 * SHAPE.cluster),
    ("increments", (0, 3), 3 * SHAPE.socket),
    ("adds", (0, 1), 3 * SHAPE.cluster),
    ("adds", (0, 3), 3 * SHAPE.socket),
    ("atomics", (0, 1), 2 * SHAPE.cluster),
    ("atomics", (0, 1, 2, 3), SHAPE.cluster + SHAPE.across + 2 * SHAPE.socket),
)
"""Who writes where, on which CPUs, and what a write takes: a line goes round and serves one at a time.

Two CPUs that read before they write have rounds of three services: A reads the line, so both have it; A takes
B's copy away; B, which has read its old copy, writes."""


def boot(
    name: str,
    pins: tuple[int, ...],
    *,
    shape: Shape = SHAPE,
    steps: int = STEPS,
    order: AccessOrder = AccessOrder.WATCH,
    seed: int = 0,
) -> Boot:
    words = f"bench.case={name} bench.steps={steps} bench.pin={','.join(map(str, pins))}"
    with tempfile.TemporaryDirectory(prefix="memory-lab-") as folder:
        path = Path(folder) / "shape"
        path.write_text(shape.text(order))
        return lab(shape=path, order=order).boot(
            "memory", len(shape.cpus), words, workers=len(pins), seed=seed
        )


def values(done: Boot) -> list[list[int]]:
    """The values of each worker, by its own clock."""
    assert done.good, f"{done.console}\n{done.errors}"
    return [[int(word[f"v{n}"]) for n in range(6)] for word in done.words("worker")]


def table_latency() -> None:
    print("| what | arithmetic, ns a step | the guest's clock |\n|---|---|---|")
    for case in CASES:
        seen = values(boot(case.name, case.pins))
        for loop in case.loops:
            step = seen[loop.worker][loop.value] / loop.steps
            print(f"| {loop.about} | {loop.step} | {step:.2f} ({step / loop.step - 1:+.2%}) |", flush=True)


def a_write(done: Boot) -> float:
    """The ns that a write took: of all repeats of all workers, the median."""
    return statistics.median(value for worker in values(done) for value in worker) / WRITES


def table_sharing() -> None:
    print("| writes to | CPUs | order | arithmetic, ns a write | the guest's clock | late in the window |")
    print("|---|---|---|---|---|---|")
    for name, pins, step in SHARING:
        for order in (AccessOrder.WATCH, AccessOrder.STRICT):
            done = boot(name, pins, order=order, steps=WRITES)
            assert done.log
            late = done.log.orders["window"].count
            seen, cpus = a_write(done), " ".join(map(str, pins))
            print(
                f"| {name} | {cpus} | {order} | {step} | {seen:.2f} ({seen / step - 1:+.2%}) | {late} |",
                flush=True,
            )


INCREMENTS, ALONE = 4000, 90
"""Increments of the workload `counters`, and the instructions of each with its delay."""


def in_order(shape: Shape, cpus: int, apart: int) -> float:
    """The ns for an increment of packed counters, by the reference: accesses in the order of their times."""
    model = Reference(shape)
    waiting = [(1 + cpu * apart, cpu, READ) for cpu in range(cpus)]
    left = [INCREMENTS // cpus] * cpus
    while any(left):
        now, cpu, kind = heapq.heappop(waiting)
        stall = model.access(cpu, kind, 1, now)
        left[cpu] -= kind == WRITE
        then = (READ, ALONE - 2) if kind == WRITE else (WRITE, 2)
        if left[cpu]:
            heapq.heappush(waiting, (now + stall + then[1], cpu, then[0]))
    return (now + stall) / INCREMENTS


def server(cpus: int) -> Shape:
    """server2x16, as far as one line of its first node tells."""
    place = Place(0, 0, 0)
    l1, l2, l3 = Level(64, 8, 1), Level(1024, 16, 5), Level(32768, 11, 17)
    return Shape(l1, l1, l2, l3, (place,) * cpus, (Range(0, 4096, 0),), local=81, cluster=49)


def counters(cpus: int, order: AccessOrder) -> tuple[float, Disorder]:
    """The ns for an increment of packed counters on server2x16, and what was late."""
    with tempfile.TemporaryDirectory(prefix="memory-lab-") as folder:
        pins = ",".join(map(str, range(cpus)))
        words = f"bench.steps={INCREMENTS} bench.delay=20 bench.layout=packed bench.pin={pins}"
        setup = lab(shape=shape_of("server2x16", cpus, Path(folder)), order=order)
        done = setup.boot("counters", cpus, words, seed=1)
    assert done.log
    return done.window(cpus).work / INCREMENTS, done.log.orders["window"]


def table_counters() -> None:
    """Packed counters on server2x16, by the reference and in the guest."""
    print("| CPUs | reference, ns an increment | order | the guest | late | worst, ns |")
    print("|---|---|---|---|---|---|")
    for cpus in chosen((2, 4, 8)):
        rounds = sorted({round(in_order(server(cpus), cpus, apart)) for apart in range(0, 102, 3)})
        for order in (AccessOrder.STRICT, AccessOrder.WATCH):
            each, late = counters(cpus, order)
            words = " or ".join(map(str, rounds))
            print(f"| {cpus} | {words} | {order} | {each:.2f} | {late.count} | {late.worst_ns} |", flush=True)


if __name__ == "__main__":
    tables: dict[str, Callable[[], None]] = {
        "latency": table_latency,
        "sharing": table_sharing,
        "counters": table_counters,
    }
    for word in sys.argv[1:]:
        tables[word]()
