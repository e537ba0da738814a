"""memory_late.c counts accesses out of order as their definition does, whatever the caches hold."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.memory_reference import Level, Shape
from tests.memorykit import Figures, load
from tests.unit.insn.c.memory_steps import ATOMIC, READ, WRITE, Access, give, machine

TINY = Level(1, 2, 5)
"""An L2 of two lines: nearly everything is evicted again and again."""
ONE = Level(1, 1, 1)
MIXED, WRITES = (READ, READ, WRITE, ATOMIC), (READ, WRITE, WRITE, WRITE, WRITE, WRITE)
TRACES = ((2, MIXED), (12, MIXED), (12, WRITES))
"""Lines, and kinds of accesses."""
SEEDS = range(9)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load(tmp_path_factory.mktemp("memory"))


def by_definition(accesses: Sequence[Access], times: Sequence[int]) -> tuple[list[int], Figures]:
    """How late each access is, and the sums, computed from the whole history of each line."""
    writer: dict[int, tuple[int, int]] = {}  # by line: who wrote it last, and when
    read: dict[int, dict[int, int]] = {}  # by line and CPU: when it last read
    lates, crossed = [], 0
    for (cpu, kind, line), now in zip(accesses, times, strict=True):
        last, written = writer.get(line, (cpu, 0))
        after_write = max(written - now, 0) if last != cpu else 0
        others = [at for other, at in read.get(line, {}).items() if other != cpu]
        after_read = max([at - now for at in others if kind in (WRITE, ATOMIC)] + [0])
        lates.append(max(after_write, after_read))
        crossed += kind == WRITE and after_write > 0 and after_read == 0
        if kind != WRITE:
            read.setdefault(line, {})[cpu] = now
        if kind in (WRITE, ATOMIC):
            writer[line] = (cpu, now)
    figures = {
        "count": sum(map(bool, lates)),
        "worst_ns": max(lates),
        "total_ns": sum(lates),
        "crossed": crossed,
    }
    return lates, figures


def skewed(seed: int, cpus: int) -> tuple[list[Access], list[int]]:
    """CPUs in turns, each by its own time, up to 500 ns ahead of the others. No fetches."""
    dice = random.Random(seed)
    lines, kinds = TRACES[seed % len(TRACES)]
    clocks = [dice.randrange(1, 500) for _ in range(cpus)]
    accesses: list[Access] = []
    times = []
    while len(accesses) < 5000:
        cpu = clocks.index(min(clocks))
        until = clocks[cpu] + dice.randrange(1, 500)
        while clocks[cpu] < until:
            accesses.append((cpu, dice.choice(kinds), dice.randrange(lines)))
            times.append(clocks[cpu])
            clocks[cpu] += dice.randrange(0, 30)
    return accesses, times


def machines(cpus: int) -> Iterator[Shape]:
    clusters = "".join(str(cpu // 2) for cpu in range(cpus))
    for l1, l2 in ((Level(16, 4, 1), Level(64, 8, 5)), (ONE, Level(64, 8, 5)), (ONE, TINY)):
        for l3 in (None, Level(1, 1, 12), Level(256, 16, 12)):
            yield machine(clusters, l1=l1, l2=l2, l3=l3)


def agrees(model: ctypes.CDLL, folder: Path, seed: int) -> bool:
    cpus = (2, 3, 6)[seed // len(TRACES)]
    accesses, times = skewed(seed, cpus)
    lates, figures = by_definition(accesses, times)
    worst = accesses[lates.index(figures["worst_ns"])][2]
    assert figures["count"] > 100
    assert TRACES[seed % len(TRACES)][1] is MIXED or figures["crossed"] > 100
    for shape in machines(cpus):
        for quick in (True, False):
            given = give(model, folder, shape, accesses, times, quick=quick)
            if given.lates != lates or given.order != {"worst_line": worst, **figures}:
                return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_late_accesses_are_those_of_the_definition(model: ctypes.CDLL, tmp_path: Path, seed: int) -> None:
    assert agrees(model, tmp_path, seed)


@pytest.mark.parametrize(
    ("accesses", "times", "lates"),
    [
        ([(0, WRITE, 1), (1, READ, 1)], [100, 60], [0, 40]),
        ([(0, WRITE, 1), (1, READ, 1)], [100, 100], [0, 0]),
        ([(0, READ, 1), (1, WRITE, 1)], [100, 60], [0, 40]),
        ([(0, READ, 1), (1, READ, 1)], [100, 60], [0, 0]),
        ([(0, WRITE, 1), (1, WRITE, 1)], [100, 60], [0, 40]),
        ([(0, WRITE, 1), (1, READ, 1), (1, READ, 1), (1, READ, 1)], [100, 60, 90, 110], [0, 40, 10, 0]),
        ([(0, READ, 1), (1, WRITE, 1), (1, WRITE, 1)], [100, 60, 70], [0, 40, 30]),
        ([(0, WRITE, 1), (1, WRITE, 1), (1, READ, 1)], [100, 60, 70], [0, 40, 0]),
        ([(0, READ, 1), (0, READ, 1), (1, WRITE, 1)], [10, 100, 60], [0, 0, 40]),
        ([(0, READ, 1), (1, READ, 1), (1, WRITE, 1)], [100, 90, 60], [0, 0, 40]),
        ([(0, WRITE, 1), (1, READ, 2)], [100, 60], [0, 0]),
        ([(0, ATOMIC, 1), (1, ATOMIC, 1)], [100, 60], [0, 40]),
    ],
    ids=[
        "a read after a write",
        "at the same time",
        "a write after a read",
        "two reads",
        "two writes",
        "it reads again",
        "it writes again",
        "it reads what it wrote itself",
        "the reader's last read counts",
        "the writer's own read does not",
        "another line",
        "two atomics",
    ],
)
def test_what_is_late(
    model: ctypes.CDLL, tmp_path: Path, accesses: list[Access], times: list[int], lates: list[int]
) -> None:
    assert give(model, tmp_path, machine("00"), accesses, times).lates == lates


def test_evictions_do_not_make_it_forget(model: ctypes.CDLL, tmp_path: Path) -> None:
    """What CPU 0 did to line 1 is still known when nothing but memory has the line."""
    shape = machine("00", l1=ONE, l2=TINY)
    others: list[Access] = [(0, READ, line) for line in range(2, 20)]
    times = [100, *range(101, 101 + len(others)), 60]
    for kind, late in ((READ, 40), (WRITE, 40)):
        given = give(model, tmp_path, shape, [(0, WRITE, 1), *others, (1, kind, 1)], times)
        assert given.lates[-1] == late


BROKEN = {
    "copies do not tell their last use": (
        "memory_late.c",
        "    fold_copy(entry, &cpu->data, line);\n",
        "",
    ),
    "an L1's victim does not tell": (
        "memory_model.c",
        "    if (victim.tag)\n        memory_late_fold(",
        "    if (0)\n        memory_late_fold(",
    ),
    "an L2's victim does not tell": (
        "memory_leave.c",
        "    memory_late_fold_copies(entry, &s->cpu[c], line);\n",
        "",
    ),
    "the next access does not compare": (
        "memory_late.c",
        "return other > a->now ? MEMORY_LOOK : 0;",
        "return 0;",
    ),
    "only the last reader is known": (
        "memory_late.c",
        "memory_state_latest(entry->read_at, times.read)",
        "times.read",
    ),
    "a hit is not noted": ("memory.h", "spot->times->read = now;", "(void)now;"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_order_is_caught(tmp_path: Path, name: str) -> None:
    broken = load(tmp_path, *BROKEN[name])
    assert not all(agrees(broken, tmp_path, seed) for seed in SEEDS)
