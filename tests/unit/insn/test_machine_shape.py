"""The shape file: one line a value, as the C reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.system.machines import MemoryRange
from benchgate.insn.machine_shape import CpuPlace, capacities_of, places_in, shape, shape_of
from benchgate.plan import catalog
from tests.unit.machines import BOTH, duo, uneven, with_memory

WHOLE = """\
benchgate-machine 1
name duo
cpus 3
line 64
l1d 8 2 1
l1i 8 4 1
l2 16 4 3
l3 64 12 11
cpu 0 0 0 0
cpu 1 0 0 0
cpu 2 1 1 1
memory 0 4096 0
memory 4096 8192 1
local_ns 50
remote_ns 85
transfer_cluster_ns 20
transfer_across_ns 20
transfer_socket_ns 90
atomic_ns 4
interrupt_ns 700
bandwidth 2000
tlb 32 4 15
order watch
end
"""
MEMORY = (MemoryRange(0, 4096, 0), MemoryRange(4096, 8192, 1))


def test_a_shape_has_every_value_in_the_order_of_the_format() -> None:
    assert shape(duo(), 3, MEMORY) == WHOLE
    assert shape(duo(order="strict"), 3, MEMORY) == WHOLE.replace("order watch", "order strict")


def test_what_a_machine_lacks_is_zero() -> None:
    lines = shape(duo(l3="", tlb=""), 1, MEMORY).splitlines()
    assert {"l3 0 0 0", "tlb 0 0 0", "cpus 1"} <= set(lines)


def test_more_cpus_than_the_machine_has_are_refused() -> None:
    with pytest.raises(ValueError, match="machine duo has 4 CPUs, not 5"):
        shape(duo(), 5, MEMORY)


def test_where_the_cpus_are_is_read_back() -> None:
    first = CpuPlace(0, 0, 0)
    assert places_in(shape(duo(), 3, MEMORY)) == (first, first, CpuPlace(1, 1, 1))
    assert places_in("") == ()


@pytest.mark.parametrize("change", [("cpu 1 0 0 0\n", ""), ("cpu 2 1 1 1", "cpu 3 1 1 1"), ("cpu ", "ccpu ")])
def test_a_shape_without_all_cpus_is_refused(change: tuple[str, str]) -> None:
    with pytest.raises(VerifyError, match=r"machine\.shape does not say where each CPU is"):
        places_in(WHOLE.replace(*change))


def test_a_system_on_the_ideal_machine_has_no_shape() -> None:
    linux = catalog.load_system("linux")
    assert shape_of(linux, 2) == ""
    assert "memory 402653184 134217728 1\n" in shape_of(linux.on(duo()), 2)


def test_a_machine_without_memory_has_no_shape_and_the_capacities_of_the_first_cpus() -> None:
    linux = catalog.load_system("linux")
    on = linux.on(uneven())
    assert (shape_of(on, 3), capacities_of(on, 3)) == ("", "1024:512:1024")
    assert (capacities_of(linux, 3), capacities_of(linux.on(duo()), 3)) == ("", "")


def test_a_machine_with_both_has_both() -> None:
    on = catalog.load_system("linux").on(with_memory(BOTH, Path("both.yaml")))
    assert shape_of(on, 2) == shape_of(catalog.load_system("linux").on(duo()), 2).replace("duo", "both")
    assert capacities_of(on, 4) == "1024:512:1024:300"
