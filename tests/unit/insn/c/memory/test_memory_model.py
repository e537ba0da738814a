"""memory_model.c gives what arithmetic says, to the ns and to the access."""

from __future__ import annotations

import ctypes
import random
from pathlib import Path

import pytest

from tests.memory_reference import Level
from tests.memorykit import load
from tests.unit.insn.c.memory_steps import ATOMIC, FETCH, MEMORY, READ, WRITE, Given, give, machine

L1, L2 = 64, 512
"""Lines that fit."""
L3 = Level(256, 16, 12)
L3_LINES = 4096
NODE = MEMORY // 64 // 2
"""The first line of the second node."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load(tmp_path_factory.mktemp("memory"))


def sweep(model: ctypes.CDLL, folder: Path, lines: int, stride: int = 1, kind: int = READ) -> Given:
    """Five passes over so many lines, on a machine with an L3."""
    return give(
        model, folder, machine(l3=L3), [(0, kind, stride * line) for _ in range(5) for line in range(lines)]
    )


@pytest.mark.parametrize("kind", [READ, FETCH, WRITE])
@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (1, "l1"),
        (L1, "l1"),
        (2 * L1, "l2"),
        (L2, "l2"),
        (2 * L2, "l3"),
        (L3_LINES, "l3"),
        (2 * L3_LINES, "local"),
    ],
)
def test_a_sweep_misses_a_level_always_or_only_at_first(
    model: ctypes.CDLL, tmp_path: Path, kind: int, lines: int, place: str
) -> None:
    given = sweep(model, tmp_path, lines, kind=kind)
    if kind == WRITE and place == "l3":  # an L3 takes lines only when they leave an L2, modified
        assert given.served() == {"local": lines, "l3": 4 * lines}
    elif place == "local":
        assert given.served() == {"local": 5 * lines}
    else:
        assert given.served() == {"local": lines, place: 4 * lines}


@pytest.mark.parametrize(("extra", "sets"), [(1, 1), (8, 8), (16, 16)])
def test_one_line_more_than_its_ways_makes_a_set_miss_always(
    model: ctypes.CDLL, tmp_path: Path, extra: int, sets: int
) -> None:
    """5 lines in turn in a set of 4 ways: LRU replaces the one that comes next. The other sets hit."""
    lines, missing = L1 + extra, 5 * sets
    given = sweep(model, tmp_path, lines)
    assert [given.total(f"count {place}") for place in ("local", "l1", "l2")] == [
        lines,
        4 * (lines - missing),
        4 * missing,
    ]


@pytest.mark.parametrize(("stride", "fits"), [(1, 64), (2, 32), (4, 16), (8, 8), (16, 4), (32, 4)])
def test_a_stride_uses_only_some_sets(model: ctypes.CDLL, tmp_path: Path, stride: int, fits: int) -> None:
    """16 sets: with a stride of s lines, 16 / s of them hold 4 lines each."""
    assert sweep(model, tmp_path, fits, stride).served() == {"local": fits, "l1": 4 * fits}
    assert sweep(model, tmp_path, 2 * fits, stride).total("count l1") == 0


@pytest.mark.parametrize(
    ("lines", "first", "latency"),
    [(L1, 0, 1), (L2, 0, 5), (L3_LINES, 0, 12), (16 * L3_LINES, 0, 80), (16 * L3_LINES, NODE, 140)],
    ids=["l1", "l2", "l3", "local", "remote"],
)
def test_a_pointer_chase_sees_the_latency_of_its_level(
    model: ctypes.CDLL, tmp_path: Path, lines: int, first: int, latency: int
) -> None:
    """One random order again and again: of each set of a level all lines stay, or none."""
    order = list(range(lines))
    random.Random(lines).shuffle(order)
    given = give(
        model, tmp_path, machine(l3=L3), [(0, READ, first + line) for _ in range(3) for line in order]
    )
    last = given.stalls[-lines:]
    assert sum(1 + stall for stall in last) == latency * lines


@pytest.mark.parametrize(
    ("clusters", "sockets", "stall"), [("00", "00", 19), ("01", "00", 60), ("01", "01", 121)]
)
def test_a_line_that_two_cpus_write_is_transferred_each_time(
    model: ctypes.CDLL, tmp_path: Path, clusters: str, sockets: str, stall: int
) -> None:
    rounds = 100
    for l3 in (None, L3):
        shape = machine(clusters, sockets=sockets, l3=l3)
        given = give(model, tmp_path, shape, [(n % 2, WRITE, 7) for n in range(rounds)])
        assert given.stalls == [79] + (rounds - 1) * [stall]
        assert given.total("invalidations") == rounds - 1
        assert given.total("written_back") == 0


@pytest.mark.parametrize(("clusters", "far"), [("00", 20), ("01", 61)])
def test_a_ping_pong_of_reading_and_writing_pays_a_transfer_and_an_upgrade(
    model: ctypes.CDLL, tmp_path: Path, clusters: str, far: int
) -> None:
    """Each CPU reads what the other one wrote, then writes: 10 turns of each."""
    accesses = [(n // 2 % 2, (READ, WRITE)[n % 2], 7) for n in range(40)]
    given = give(model, tmp_path, machine(clusters, l3=L3), accesses)
    assert given.stalls == [79, 0] + 19 * [far - 1, far - 1]
    assert given.total("count upgrade") == 19
    assert given.total("stall_ns upgrade") == 19 * (far - 1)


def test_false_sharing_costs_what_sharing_costs_and_lines_of_their_own_cost_nothing(
    model: ctypes.CDLL, tmp_path: Path
) -> None:
    """The model sees lines: two words of one line are one."""
    rounds = 50
    shared = give(model, tmp_path, machine("0000"), [(n % 4, WRITE, 9) for n in range(4 * rounds)])
    padded = give(model, tmp_path, machine("0000"), [(n % 4, WRITE, 9 + n % 4) for n in range(4 * rounds)])
    assert shared.served() == {"local": 1, "transfer_cluster": 4 * rounds - 1}
    assert padded.served() == {"local": 4, "l1": 4 * (rounds - 1)}
    assert sum(padded.stalls) == 4 * 79


def test_what_all_read_is_fetched_once_by_each(model: ctypes.CDLL, tmp_path: Path) -> None:
    """The second reader has it from the first, who was alone; then the L3 of each cluster has it."""
    accesses = [(cpu, READ, 3) for _ in range(10) for cpu in range(4)]
    given = give(model, tmp_path, machine("0011", l3=L3), accesses)
    assert given.stalls[:4] == [79, 19, 79, 11]
    assert given.stalls[4:] == [0] * 36
    given = give(model, tmp_path, machine("0011"), accesses)
    assert given.stalls[:4] == [79, 19, 79, 79]


def test_a_write_takes_a_line_from_all_readers_and_waits_for_the_farthest(
    model: ctypes.CDLL, tmp_path: Path
) -> None:
    readers = [(cpu, READ, 3) for cpu in range(4)]
    shape = machine("0012", sockets="0001", l3=L3)
    given = give(model, tmp_path, shape, [*readers, (0, WRITE, 3), *readers])
    assert given.stalls[4] == 121
    assert given.books[0]["invalidations"] == 3
    # CPU 0 has it, CPU 1 gets it from there, CPU 2 from their L3, which writes it back, CPU 3 from memory.
    assert given.stalls[5:] == [0, 19, 60, 139]
    assert give(model, tmp_path, machine("00"), [*readers[:2], (0, WRITE, 3)]).stalls[2] == 19


def test_a_write_takes_a_line_from_255_readers(model: ctypes.CDLL, tmp_path: Path) -> None:
    """The model knows of each CPU whether it has the line, not of groups of them."""
    cpus = 256
    accesses = [(cpu, READ, 3) for cpu in range(cpus)]
    for writer in (0, 63, 64, 200, 255):
        given = give(model, tmp_path, machine("0" * cpus), [*accesses, (writer, WRITE, 3), *accesses])
        assert given.books[writer]["invalidations"] == cpus - 1
        again = given.stalls[cpus + 1 :]
        assert again.pop(writer) == 0
        assert again == [19] + [79] * (cpus - 2)


def test_a_write_miss_waits_for_its_data_and_the_farthest_copy(model: ctypes.CDLL, tmp_path: Path) -> None:
    """CPU 0 finds the line in its L3, 12 ns away, and another socket has a copy, 122 ns away."""
    shape = machine("001", sockets="001", l3=L3)
    given = give(model, tmp_path, shape, [(1, READ, 3), (2, READ, 3), (0, WRITE, 3)])
    assert given.stalls == [79, 121, 121]
    assert given.books[0]["stall_ns l3"] == 11
    assert given.books[0]["stall_ns upgrade"] == 110


def test_private_data_stays_exclusive_and_is_written_without_a_wait(
    model: ctypes.CDLL, tmp_path: Path
) -> None:
    given = give(model, tmp_path, machine("01"), [(0, READ, 3), (0, WRITE, 3), (1, READ, 4), (1, ATOMIC, 4)])
    assert given.stalls == [79, 0, 79, 5]
    assert given.total("count upgrade") == 0


def test_modified_lines_are_written_back_once(model: ctypes.CDLL, tmp_path: Path) -> None:
    """512 lines fit in the L2. Of 2,048 written once each, the last 512 are still there."""
    given = give(model, tmp_path, machine(), [(0, WRITE, line) for line in range(2048)])
    assert given.total("written_back") == 2048 - 512
    given = give(model, tmp_path, machine(), [(0, READ, line) for line in range(2048)])
    assert given.total("written_back") == 0


def test_an_atomic_costs_its_price_on_top_of_where_its_line_is(model: ctypes.CDLL, tmp_path: Path) -> None:
    given = give(model, tmp_path, machine("00"), [(0, ATOMIC, 3), (0, ATOMIC, 3), (1, ATOMIC, 3)])
    assert given.stalls == [79 + 5, 5, 19 + 5]
    assert given.total("stall_ns atomic") == 15


def test_memory_of_the_other_node_is_remote(model: ctypes.CDLL, tmp_path: Path) -> None:
    lines = (0, NODE - 1, NODE, 2 * NODE - 1)
    shape = machine("01", sockets="01")
    assert give(model, tmp_path, shape, [(0, READ, line) for line in lines]).stalls == [79, 79, 139, 139]
    assert give(model, tmp_path, shape, [(1, READ, line) for line in lines]).stalls == [139, 139, 79, 79]


def test_what_is_outside_the_memory_is_counted_and_costs_nothing(model: ctypes.CDLL, tmp_path: Path) -> None:
    given = give(model, tmp_path, machine(), [(0, READ, 2 * NODE), (0, FETCH, 2**58), (0, READ, 2 * NODE)])
    assert (given.stalls, given.total("outside"), given.served()) == ([0, 0, 0], 3, {})


@pytest.mark.parametrize("seed", range(4))
def test_the_books_balance(model: ctypes.CDLL, tmp_path: Path, seed: int) -> None:
    """Each access is served in one place, and each ns of stall has a class."""
    dice = random.Random(seed)
    shape = machine("0012", sockets="0001", l3=Level(8, 2, 12) if seed % 2 else None, bandwidth=3000)
    accesses = [(dice.randrange(4), dice.randrange(4), dice.randrange(200) ** 2) for _ in range(4000)]
    times = [40 * n + dice.randrange(1000) for n in range(4000)]
    given = give(model, tmp_path, shape, accesses, times)
    stalls = [
        sum(s for s, (cpu, _, _) in zip(given.stalls, accesses, strict=True) if cpu == c) for c in range(4)
    ]
    for cpu, books in given.books.items():
        made = sum(number == cpu for number, _, _ in accesses)
        places = [books[f"count {name}"] for name in ("l1", "l2", "l3", "local", "remote")]
        places += [books[f"count transfer_{name}"] for name in ("cluster", "across", "socket")]
        assert (
            sum(places)
            == made
            == sum(books[f"accesses {kind}"] for kind in ("read", "fetch", "write", "atomic"))
        )
        assert stalls[cpu] == sum(books[name] for name in books if name.startswith("stall_ns "))
        latency = {
            "l2": 5,
            "l3": 12,
            "local": 80,
            "remote": 140,
            "transfer_across": 61,
            "transfer_socket": 122,
        }
        for place, ns in latency.items():
            assert books[f"stall_ns {place}"] == (ns - 1) * books[f"count {place}"]
        assert books["stall_ns l1"] == 0
