"""What QEMU is told of a machine: sockets, clusters, nodes and distances."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.system.arch import AARCH64, RISCV64, X86_64, Architecture
from benchgate.base.system.boots import QemuWords
from benchgate.base.system.guest_topology import is_told, memory_of, topology_of
from benchgate.base.system.machines import Machine, MemoryRange
from benchgate.base.system.systems import System
from benchgate.plan import catalog
from tests.unit.machines import duo, uneven


def system(machine: Machine | str, arch: Architecture = X86_64, qemu: QemuWords | None = None) -> System:
    result = catalog.load_machine(machine) if isinstance(machine, str) else machine
    assert result is not None
    qemu = qemu or QemuWords(machine=arch.machine, memory="512M")
    return replace(catalog.load_system("linux"), arch=arch, qemu=qemu).on(result)


@pytest.mark.parametrize(
    ("machine", "arch", "cpus", "smp"),
    [
        ("desktop8", X86_64, 8, "8,sockets=1,dies=2,cores=4,threads=1"),
        ("desktop8", X86_64, 4, "4,sockets=1,cores=4,threads=1"),
        ("desktop8", X86_64, 6, "6,sockets=1,dies=3,cores=2,threads=1"),
        ("desktop8", X86_64, 1, "1,sockets=1,cores=1,threads=1"),
        ("desktop8", AARCH64, 8, "8,sockets=1,clusters=2,cores=4,threads=1"),
        ("desktop8", RISCV64, 8, "8,sockets=1,cores=8,threads=1"),
        ("server2x16", X86_64, 32, "32,sockets=2,cores=16,threads=1"),
        ("server2x16", X86_64, 16, "16,sockets=1,cores=16,threads=1"),
        ("server2x16", X86_64, 20, "20,sockets=5,cores=4,threads=1"),
        ("manycore64", X86_64, 64, "64,sockets=1,dies=16,cores=4,threads=1"),
    ],
)
def test_the_first_cpus_are_told_with_their_sockets_and_clusters(
    machine: str, arch: Architecture, cpus: int, smp: str
) -> None:
    assert topology_of(system(machine, arch), cpus).smp == smp


def test_nodes_have_their_memory_their_cpus_and_their_distances() -> None:
    assert topology_of(system(duo()), 3).arguments == (
        *("-object", "memory-backend-ram,id=node0,size=402653184"),
        *("-numa", "node,nodeid=0,memdev=node0,cpus=0-1"),
        *("-object", "memory-backend-ram,id=node1,size=134217728"),
        *("-numa", "node,nodeid=1,memdev=node1,cpus=2-2"),
        *("-numa", "dist,src=0,dst=1,val=17"),
    )


def test_without_a_machine_qemu_is_told_of_no_node() -> None:
    told = topology_of(catalog.load_system("linux"), 4)
    assert (told.smp, told.arguments) == ("4", ())


def test_a_node_without_cpus_keeps_its_memory_except_on_riscv() -> None:
    assert "node,nodeid=1,memdev=node1" in topology_of(system(duo()), 2).arguments
    assert topology_of(system(duo(), RISCV64), 2).arguments == ()
    assert topology_of(system(duo(), RISCV64), 4).arguments != ()


def test_one_node_needs_no_options() -> None:
    assert topology_of(system("desktop8"), 8).arguments == ()


@pytest.mark.parametrize(("remote", "value"), [(51, 11), (85, 17), (5000, 254)])
def test_a_distance_is_the_ratio_of_the_latencies(remote: int, value: int) -> None:
    far = duo(memory=f"{{local_ns: 50, remote_ns: {remote}}}")
    assert topology_of(system(far), 4).arguments[-1] == f"dist,src=0,dst=1,val={value}"


def test_nodes_may_be_several_hops_apart() -> None:
    told = topology_of(system("server4x8"), 32).arguments
    # a ring of four: 0-2 and 1-3 are two hops apart
    expected = ("0,dst=1,val=16", "0,dst=2,val=22", "0,dst=3,val=16", "1,dst=2,val=16", "1,dst=3,val=22")
    assert [word for word in told if word.startswith("dist")] == [
        f"dist,src={pair}" for pair in (*expected, "2,dst=3,val=16")
    ]


@pytest.mark.parametrize(
    ("qemu", "smp"),
    [
        (QemuWords(smp="{n},sockets={n}"), "2,sockets=2"),
        (QemuWords(arguments=("-numa", "node")), "2"),
        (QemuWords(machine="microvm"), "2"),
    ],
)
def test_a_system_with_a_topology_of_its_own_keeps_it(qemu: QemuWords, smp: str) -> None:
    own = system(duo(), qemu=qemu)
    assert not is_told(own)
    assert (topology_of(own, 2).arguments, topology_of(own, 2).smp) == ((), smp)
    assert [memory_range.node for memory_range in memory_of(own)] == [0, 1]


def test_the_ideal_machine_changes_nothing() -> None:
    ideal = system(duo()).on_ideal
    assert (topology_of(ideal, 4).smp, topology_of(ideal, 4).arguments) == ("4", ())
    assert (ideal.name, memory_of(ideal), is_told(ideal)) == ("linux", (), False)


@pytest.mark.parametrize(("arch", "first"), [(X86_64, 0), (RISCV64, 1 << 31), (AARCH64, 1 << 30)])
def test_memory_begins_where_the_architecture_has_it(arch: Architecture, first: int) -> None:
    assert memory_of(system(duo(), arch))[0] == MemoryRange(first, 384 << 20, 0)


@pytest.mark.parametrize(
    ("qemu", "why"),
    [
        (QemuWords(machine="sifive_u,x=1"), "where the guest's memory is on QEMU's machine type sifive_u"),
        (QemuWords(memory="4G"), "a guest has at most 2048 MiB there, not 4096"),
        (QemuWords(memory="lots"), "qemu.memory lots is not a size"),
    ],
)
def test_memory_that_is_not_known_is_refused(qemu: QemuWords, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        memory_of(system(duo(), qemu=qemu))


def test_a_guest_is_not_told_of_cpus_of_different_speed() -> None:
    on = catalog.load_system("linux").on(uneven())
    assert topology_of(on, 4) == topology_of(catalog.load_system("linux"), 4)
    assert (memory_of(on), is_told(on)) == ((), False)
