"""memory_queue.c: in order it is a queue, and out of order it makes nobody wait for the future."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.insn.c.native import load

SLOTS = 1 << 17


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load(tmp_path_factory.mktemp("queue"), "memory_queue")


def waits(library: ctypes.CDLL, times: Sequence[int], slot_ps: int = 10_000) -> list[int]:
    queue = (ctypes.c_uint64 * 3)()
    assert library.memory_queue_setup(queue, ctypes.c_uint64(slot_ps))
    result = [int(library.memory_queue_take(queue, ctypes.c_uint64(time))) for time in times]
    library.memory_queue_free(queue)
    return result


def test_one_after_the_other(library: ctypes.CDLL) -> None:
    assert waits(library, [100] * 5) == [0, 10, 20, 30, 40]
    assert waits(library, [100, 110, 120, 130]) == [0, 0, 0, 0]
    assert waits(library, [100, 105, 110, 115, 120]) == [0, 5, 10, 15, 20]


def test_who_comes_late_takes_a_slot_of_its_own_time(library: ctypes.CDLL) -> None:
    assert waits(library, [5000, 5000, 100, 100, 5000]) == [0, 10, 0, 10, 20]


def test_ps_are_rounded_up_to_ns(library: ctypes.CDLL) -> None:
    """Slots begin at 0, 1.5, 3, 4.5, 6 ns."""
    assert waits(library, [0, 0, 0, 0, 0], 1500) == [0, 2, 3, 5, 6]


def test_a_stream_gets_the_bandwidth(library: ctypes.CDLL) -> None:
    """A request each ns for 1,000 ns, and 3 ns for each: the last waits 2,000 ns, however it is cut."""
    result = waits(library, range(1000), 3000)
    assert result == [3 * n - n for n in range(1000)]


def test_the_sum_of_waits_does_not_depend_on_the_order(library: ctypes.CDLL) -> None:
    dice = random.Random(1)
    times = [10 * dice.randrange(300) for _ in range(250)]
    expected = sum(waits(library, sorted(times)))
    assert expected > 1000
    for _ in range(20):
        dice.shuffle(times)
        assert sum(waits(library, times)) == expected


def test_far_jumps_and_what_is_forgotten(library: ctypes.CDLL) -> None:
    """The ring has 131,072 slots. What is older takes none; what is new finds them free."""
    far = 10 * SLOTS
    assert waits(library, [100, 100, 100 + 7 * far, 100 + 7 * far, 100, 100]) == [0, 10, 0, 10, 0, 0]
    assert waits(library, [100, 100 + far, 100 + far, 100 + far, 100 + 2 * far]) == [0, 0, 10, 20, 0]


def test_who_waits_longer_than_the_ring_is_forgotten(library: ctypes.CDLL) -> None:
    assert waits(library, [0] * (SLOTS + 3)) == [*range(0, 10 * SLOTS + 1, 10), 0, 0]


BROKEN = {
    "it forgets what is taken": ("    q->taken[slot / 64 % WORDS] |= (uint64_t)1 << slot % 64;\n", ""),
    "it only knows when it is free again": (
        "slot = first_free(q, slot);",
        "slot = first_free(q, q->end - 65);",
    ),
    "it never forgets": ("        memset(q->taken, 0, WORDS * sizeof *q->taken);", "        (void)0;"),
    "it rounds down": (" + 999", ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_queue_is_caught(tmp_path: Path, name: str) -> None:
    broken = load(tmp_path, "memory_queue", change=BROKEN[name])
    good = (
        waits(broken, [100] * 5) == [0, 10, 20, 30, 40]
        and waits(broken, [5000, 100]) == [0, 0]
        and waits(broken, [0, 0], 1500) == [0, 2]
        and waits(broken, [100, 100 + 10 * SLOTS * 3]) == [0, 0]
    )
    assert not good
