"""memory_wait.c: a line is served to one CPU at a time, and a node moves one line after the other."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import pytest

from tests.memorykit import load
from tests.unit.insn.c.memory_steps import ATOMIC, FAR, READ, WRITE, Access, give, machine


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load(tmp_path_factory.mktemp("memory"))


def test_writers_of_one_line_at_one_time_wait_for_each_other(model: ctypes.CDLL, tmp_path: Path) -> None:
    """The first takes it from memory, 80 ns; each other one from the one before, 20 ns."""
    given = give(model, tmp_path, machine("0000"), [(cpu, WRITE, 5) for cpu in range(4)], [1000] * 4)
    assert given.stalls == [79, 80 + 19, 100 + 19, 120 + 19]
    assert (given.total("count busy"), given.total("stall_ns busy")) == (3, 80 + 100 + 120)


@pytest.mark.parametrize(("later", "wait"), [(0, 80), (1, 79), (79, 1), (80, 0), (1000, 0)])
def test_the_wait_ends_with_the_service_before(
    model: ctypes.CDLL, tmp_path: Path, later: int, wait: int
) -> None:
    given = give(model, tmp_path, machine("00"), [(0, WRITE, 5), (1, WRITE, 5)], [1000, 1000 + later])
    assert given.stalls == [79, wait + 19]
    assert given.total("count busy") == bool(wait)


def test_an_access_from_before_the_service_does_not_wait_but_is_late(
    model: ctypes.CDLL, tmp_path: Path
) -> None:
    given = give(model, tmp_path, machine("00"), [(0, WRITE, 5), (1, WRITE, 5)], [1000, 999])
    assert (given.stalls, given.lates) == ([79, 19], [0, 1])


def test_lines_are_served_side_by_side(model: ctypes.CDLL, tmp_path: Path) -> None:
    given = give(model, tmp_path, machine("00"), [(0, WRITE, 5), (1, WRITE, 6)], [1000, 1000])
    assert given.stalls == [79, 79]


def test_an_upgrade_keeps_its_line_busy_and_waits_for_it(model: ctypes.CDLL, tmp_path: Path) -> None:
    """Both CPUs hold it, and write at once. The second has lost it by then: it waits for the upgrade."""
    readers: list[Access] = [(0, READ, 5), (1, READ, 5)]
    given = give(
        model, tmp_path, machine("00"), [*readers, (0, WRITE, 5), (1, WRITE, 5)], [1, FAR, 2 * FAR, 2 * FAR]
    )
    assert given.stalls[2:] == [19, 20 + 19]


def test_a_read_and_a_write_of_one_instruction_keep_the_line_busy_for_both(
    model: ctypes.CDLL, tmp_path: Path
) -> None:
    """CPU 0 has modified it. CPU 1 reads it for 20 ns, its own one of them, and comes back when it has
    waited: together twice 20. CPU 2, which asks meanwhile, waits for both."""
    accesses: list[Access] = [(0, WRITE, 5), (1, READ, 5), (1, WRITE, 5), (2, WRITE, 5)]
    times = [1, FAR, FAR + 19, FAR + 30]
    given = give(model, tmp_path, machine("000"), accesses, times)
    assert given.stalls[1:] == [19, 1 + 19, 10 + 19]
    assert given.lates == [0] * 4


def test_another_cpu_may_come_between_a_read_and_a_write(model: ctypes.CDLL, tmp_path: Path) -> None:
    """CPU 0 has lost its right to write when CPU 1 read the line, and asks for it before CPU 1 does: it is
    served from 20 to 40, and CPU 1, which has nothing then, from 40 to 60."""
    accesses: list[Access] = [(0, WRITE, 5), (1, READ, 5), (0, WRITE, 5), (1, WRITE, 5)]
    given = give(model, tmp_path, machine("00"), accesses, [1, FAR, FAR + 10, FAR + 19])
    assert given.stalls[1:] == [19, 10 + 19, 21 + 19]
    assert given.lates == [0] * 4


def test_a_lone_upgrade_is_free(model: ctypes.CDLL, tmp_path: Path) -> None:
    """CPU 1 has had the line, and has lost it to 600 others: CPU 0 holds it S, alone."""
    reads: list[Access] = [(0, READ, 5), (1, READ, 5), *((1, READ, line) for line in range(64, 704))]
    given = give(model, tmp_path, machine("00"), [*reads, (0, WRITE, 5)])
    assert given.stalls[-1] == 0
    assert given.total("count upgrade") == 1


def test_a_hit_does_not_wait(model: ctypes.CDLL, tmp_path: Path) -> None:
    accesses: list[Access] = [(0, ATOMIC, 5), (0, ATOMIC, 5), (0, READ, 5)]
    assert give(model, tmp_path, machine("00"), accesses, [1000, 1001, 1002]).stalls == [79 + 5, 5, 0]


def test_a_full_node_lets_its_readers_queue(model: ctypes.CDLL, tmp_path: Path) -> None:
    """A line every 10 ns. Eight CPUs read a line each at the same time: they wait 0, 10 ... 70 ns."""
    shape = machine("0" * 8, bandwidth=10_000)
    given = give(model, tmp_path, shape, [(cpu, READ, cpu) for cpu in range(8)], [1000] * 8)
    assert given.stalls == [79 + 10 * cpu for cpu in range(8)]
    assert (given.total("count queue"), given.total("stall_ns queue")) == (7, 280)


def test_write_backs_take_bandwidth_too_and_nobody_waits_for_them(model: ctypes.CDLL, tmp_path: Path) -> None:
    """From the 513th line on, each takes the place of another one, which is written back. The next write at
    the same time queues behind both."""
    shape = machine("0", bandwidth=10_000)
    accesses: list[Access] = [(0, WRITE, line) for line in range(514)]
    times = [1000 * line for line in range(512)] + [10**6, 10**6]
    given = give(model, tmp_path, shape, accesses, times)
    assert given.stalls[-2:] == [79, 79 + 20]


def test_nodes_have_a_bandwidth_each(model: ctypes.CDLL, tmp_path: Path) -> None:
    shape = machine("01", sockets="01", bandwidth=10_000)
    far = (1 << 29) // 64
    assert give(model, tmp_path, shape, [(0, READ, 1), (1, READ, far)], [1000, 1000]).stalls == [79, 79]
    assert give(model, tmp_path, shape, [(0, READ, 1), (1, READ, 2)], [1000, 1000]).stalls == [79, 139 + 10]


def test_a_line_stays_busy_for_as_long_as_it_is_never_left_alone(model: ctypes.CDLL, tmp_path: Path) -> None:
    """A line is busy for longer than a 32-bit number of ns: 10,000 services of 1 ms."""
    shape, ms = replace(machine("00"), cluster=1_000_000, across=1_000_000, socket=1_000_000), 1_000_000
    count = 10_000
    accesses: list[Access] = [(n % 2, WRITE, 5) for n in range(count)]
    given = give(model, tmp_path, shape, accesses, [ms * n - (n > 1) for n in range(count)])
    assert given.stalls == [79, ms - 1] + [1 + ms - 1] * (count - 2)
    given = give(model, tmp_path, shape, accesses, [ms * n for n in range(count)])
    assert given.stalls == [79, ms - 1] + [ms - 1] * (count - 2)
