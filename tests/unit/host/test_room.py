"""How many guests stand side by side: by CPUs, by memory, one where it cannot be told."""

import pytest

from benchgate.host import room

GIB = 1 << 30


@pytest.mark.parametrize(
    ("memory", "cpus", "free", "fit"),
    [
        ("256M", 2, 24 * GIB, 2),
        ("256", 2, 24 * GIB, 2),
        ("256m", 64, 24 * GIB, 16),
        ("2G", 8, 10 * GIB, 2),
        ("1T", 8, 24 * GIB, 1),
        ("256M", 8, 0, 1),
        ("1G,slots=2,maxmem=4G", 8, 24 * GIB, 1),
        ("", 8, 24 * GIB, 1),
    ],
)
def test_as_many_as_cpus_and_half_the_free_memory_allow(memory: str, cpus: int, free: int, fit: int) -> None:
    assert room.fitting(memory, cpus, free) == fit


def test_this_host_has_room_for_one() -> None:
    assert room.guests("256M") >= 1
