"""Random machines and traces for the memory model, each a function of its seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import numpy as np

from tests.memory_reference import ATOMIC, FETCH, READ, WRITE, Level, Place, Range, Shape
from tests.memorykit import FLUSH, INTERRUPT, PHASE, STEP, WALK, WALK_CODE, Steps

FIRST = 1 << 20
"""The first byte of the machines' memory. What is below belongs to no node."""
Pick = Callable[[Random, int, int, int], tuple[int, int]]
"""Gives what a CPU does and to which line, from the number of lines, the CPU and the step."""

# ---- machines


def shape(seed: int) -> Shape:
    """A machine of 1 to 64 CPUs; its caches have a few lines to a few hundred, so that every kind of victim
    is common."""
    dice = Random(seed)
    cpus = dice.choice((1, 2, 2, 3, 4, 4, 8, 8, 16, 32, 64))
    clusters = dice.choice([n for n in (1, 2, 4, 8) if n <= cpus])
    sockets = dice.choice([n for n in (1, 2, 4) if n <= clusters])
    nodes = dice.choice([n for n in (1, 2, 4) if n <= clusters])
    places = tuple(
        Place(c, c * sockets // clusters, c * nodes // clusters)
        for c in (n * clusters // cpus for n in range(cpus))
    )
    first = Level(dice.choice((1, 2, 4, 8)), dice.choice((1, 2, 4)), 1)
    second = Level(
        first.sets * dice.choice((1, 2, 4)), first.ways * dice.choice((1, 2, 3)), dice.randint(2, 9)
    )
    third = Level(second.sets * dice.choice((1, 2)), dice.choice((2, 4, 16)), dice.randint(10, 20))
    lines = 1 << dice.choice((9, 12))
    size = lines * 64 // nodes
    return Shape(
        l1d=first,
        l1i=Level(first.sets, dice.choice((1, 2)), 1) if second.ways > 1 else first,
        l2=second,
        l3=third if dice.random() < 0.7 else None,
        cpus=places,
        ranges=tuple(Range(FIRST + n * size, size, n) for n in range(nodes)),
        cluster=dice.randint(20, 40),
        across=dice.randint(40, 60),
        socket=dice.randint(60, 160),
        local=dice.randint(40, 90),
        remote=dice.randint(90, 200),
        atomic=dice.choice((0, 7)),
        bandwidth=dice.choice((0, 0, 1, 1500, 6000)),
        tlb=dice.choice((None, (4, 2, 25), (8, 8, 25))),
    )


# ---- what the CPUs do


def uniform(dice: Random, lines: int, cpu: int, step: int) -> tuple[int, int]:
    return dice.choice((READ, READ, WRITE, FETCH, ATOMIC)), dice.randrange(lines)


def hot(dice: Random, lines: int, cpu: int, step: int) -> tuple[int, int]:
    return dice.choice((READ, READ, READ, WRITE)), int(lines ** dice.random()) - 1


def strides(dice: Random, lines: int, cpu: int, step: int) -> tuple[int, int]:
    return READ if cpu % 2 else WRITE, (step * (cpu % 5 + 1) + cpu * 7) % lines


def migratory(dice: Random, lines: int, cpu: int, step: int) -> tuple[int, int]:
    return (READ, WRITE)[step % 2], step // 2 // 8 % min(lines, 24)


def producer(dice: Random, lines: int, cpu: int, step: int) -> tuple[int, int]:
    """CPU 0 fills a ring that the others read."""
    return READ if cpu else WRITE, step // (1 if cpu else 3) % min(lines, 40)


def code(dice: Random, lines: int, cpu: int, step: int) -> tuple[int, int]:
    """Everyone runs the same code; now and then somebody writes to it."""
    if dice.random() < 0.02:
        return WRITE, dice.randrange(32)
    return (FETCH, step // 3 % 48) if dice.random() < 0.7 else (READ, 32 + dice.randrange(lines - 32))


def counters(dice: Random, lines: int, cpu: int, step: int) -> tuple[int, int]:
    return dice.choice((ATOMIC, ATOMIC, READ)), dice.randrange(3)


def private(dice: Random, lines: int, cpu: int, step: int) -> tuple[int, int]:
    return dice.choice((READ, WRITE)), (cpu * 13 + dice.randrange(20)) % lines


def readers(dice: Random, lines: int, cpu: int, step: int) -> tuple[int, int]:
    return (WRITE if dice.random() < 0.01 else READ), dice.randrange(16)


STYLES: tuple[Pick, ...] = (
    uniform,
    hot,
    strides,
    migratory,
    producer,
    code,
    counters,
    private,
    readers,
)


def trace(machine: Shape, seed: int, length: int) -> Steps:
    """Turns of random length: like the clock's, one CPU may be ahead of another by up to a quantum."""
    dice = Random(seed)
    return np.array([*_steps(machine, dice, length)], STEP)


def _steps(machine: Shape, dice: Random, length: int) -> Iterator[tuple[int, int, int, int]]:
    lines = sum(one.bytes for one in machine.ranges) // machine.line
    begin = FIRST // machine.line
    times = [0] * len(machine.cpus)
    quantum = dice.choice((1, 30, 400, 5000))
    style = dice.choice(STYLES)
    step = 0
    while step < length:
        if dice.random() < 0.05:
            style = dice.choice(STYLES)
        slowest = min(range(len(times)), key=times.__getitem__)
        cpu = slowest if dice.random() < 0.5 else dice.randrange(len(times))
        limit = times[slowest] + quantum
        for _ in range(dice.randint(1, 60)):
            if times[cpu] > limit:
                break
            yield from _beside(machine, dice, cpu, times[cpu])
            op, line = style(dice, lines, cpu, step)
            yield begin + line, times[cpu], cpu, op
            times[cpu] += dice.choice((0, 1, 1, 2, 15))
            step += 1


def _beside(machine: Shape, dice: Random, cpu: int, now: int) -> Iterator[tuple[int, int, int, int]]:
    """What happens beside the accesses."""
    chance = dice.random()
    if machine.tlb and chance < 0.2:
        yield dice.randrange(12), now, cpu, dice.choice((WALK, WALK_CODE))
    elif chance < 0.202:
        yield 0, now, cpu, FLUSH
    elif chance < 0.205:
        yield 0, now, cpu, INTERRUPT
    elif chance < 0.206:
        yield dice.randrange(2), now, cpu, PHASE
    elif chance < 0.209:
        yield 3, now, cpu, dice.choice((READ, WRITE, ATOMIC, FETCH))  # a line that is in no memory
