"""Machines: the parts of a guest's memory, and the names of systems on machines."""

from __future__ import annotations

import pytest

from benchgate.base.system.machines import MemoryRange, machine_in, memory_ranges, off_machine, on_machine
from tests.unit.machines import duo

MIB = 1 << 20


def test_memory_is_divided_by_shares_and_the_last_node_has_the_rest() -> None:
    first, second = memory_ranges(duo(), 0x8000_0000, 101 * MIB)
    assert first == MemoryRange(0x8000_0000, 74 * MIB, 0)  # 75% in steps of 2 MiB
    assert second == MemoryRange(0x8000_0000 + 74 * MIB, 27 * MIB, 1)


@pytest.mark.parametrize(
    ("size", "why"), [(2049, "at most 2048 MiB there, not 2049"), (3, "3 MiB of memory are too few")]
)
def test_memory_that_cannot_be_divided_is_refused(size: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        memory_ranges(duo(), 0, size * MIB)


def test_a_cpu_has_a_cluster_a_socket_and_a_node() -> None:
    machine = duo()
    assert [machine.cluster_of(cpu) for cpu in range(4)] == [0, 0, 1, 1]
    assert [machine.socket_of(cpu) for cpu in range(4)] == [0, 0, 1, 1]
    assert [machine.node_of(cpu) for cpu in range(4)] == [0, 0, 1, 1]


def test_bandwidth_is_the_time_of_a_line() -> None:
    assert duo().ps_per_line == 2000  # 64 bytes at 32 bytes a ns


@pytest.mark.parametrize(
    ("system", "on"),
    [
        ("linux", "linux-duo"),
        ("kernel.sched-rr", "kernel-duo.sched-rr"),
        ("linux.bzImage-0a1b2c3d", "linux-duo.bzImage-0a1b2c3d"),
    ],
)
def test_a_systems_name_says_its_machine(system: str, on: str) -> None:
    assert on_machine(system, "duo") == on
    assert (machine_in(on), machine_in(system)) == ("duo", "")
    assert off_machine(on) == off_machine(system) == system
