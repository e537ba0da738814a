"""How many guests may run concurrently: limited by CPUs and memory, one if the memory is unknown."""

import pytest

from benchgate.host import concurrency

GIB = 1 << 30


@pytest.mark.parametrize(
    ("memory", "cpus", "free", "count"),
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
def test_cpus_and_half_the_free_memory_are_the_limits(memory: str, cpus: int, free: int, count: int) -> None:
    assert concurrency.fitting(memory, cpus, free) == count


def test_this_host_has_room_for_one_guest() -> None:
    assert concurrency.guests_at_once("256M") >= 1


def test_guests_kept_to_one_cpu_run_one_at_a_time() -> None:
    assert concurrency.guests_at_once("16M", (0,)) == 1


def test_a_simulated_memory_needs_room_for_each_line() -> None:
    free = 10 << 30
    assert concurrency.fitting("512M", 8, free) == 5
    assert concurrency.fitting("512M", 8, free, line=64) == 1  # 512 MiB of lines need 1.6 GiB
