"""What hosts made of files tell of their caches and nodes."""

from __future__ import annotations

from pathlib import Path

from benchgate.host import topology
from benchgate.host.memory import host_description
from benchgate.host.memory.host_description import CacheDescription, HostDescription
from tests.unit.conftest import Tree, host_files

ALONE = {0: "0", 1: "1", 2: "2", 3: "3"}


def cache_files(cpu: int, index: int, *facts: str) -> dict[str, str]:
    """`facts`: level, kind, size, who shares it, ways."""
    folder = f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
    names = ("level", "type", "size", "shared_cpu_list", "ways_of_associativity", "coherency_line_size")
    return {f"{folder}/{name}": text for name, text in zip(names, (*facts, "64"), strict=True)}


def all_caches(cpu: int, l3: str) -> dict[str, str]:
    return {
        **cache_files(cpu, 0, "1", "Data", "48K", str(cpu), "12"),
        **cache_files(cpu, 1, "1", "Instruction", "32K", str(cpu), "8"),
        **cache_files(cpu, 2, "2", "Unified", "1M", str(cpu), "16"),
        **cache_files(cpu, 3, "3", "Unified", "32768K", l3, "16"),
    }


def read(root: Path, usable: tuple[int, ...] = (0, 1, 2, 3)) -> HostDescription:
    return host_description.read(topology.read(root, affinity=usable), root)


def test_a_complete_host(tree: Tree) -> None:
    files = host_files("0-3", ALONE)
    for cpu in range(4):
        files |= all_caches(cpu, "0-1" if cpu < 2 else "2-3")
    files |= {
        "sys/devices/system/node/node0/cpulist": "0-1",
        "sys/devices/system/node/node1/cpulist": "2-3",
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Made-up 4000\nflags\t\t: fpu hypervisor",
    }
    description = read(tree(files))
    assert description.caches == (
        CacheDescription(1, "Data", 48 << 10, 12, 64, (0,)),
        CacheDescription(1, "Instruction", 32 << 10, 8, 64, (0,)),
        CacheDescription(2, "Unified", 1 << 20, 16, 64, (0,)),
        CacheDescription(3, "Unified", 32 << 20, 16, 64, (0, 1)),
    )
    assert (description.l3_groups, description.nodes) == (((0, 1), (2, 3)), ((0, 1), (2, 3)))
    assert (description.sockets, description.cores) == (((0, 1, 2, 3),), ((0,), (1,), (2,), (3,)))
    assert (description.is_virtual, description.model) == (True, "Made-up 4000")
    assert (description.cache(1, "Data"), description.cache(3, "Data"), description.cache(4, "Data")) == (
        description.caches[0],
        description.caches[3],
        None,
    )


def test_only_usable_cpus_are_in_the_groups(tree: Tree) -> None:
    files = host_files("0-3", ALONE) | {"sys/devices/system/node/node0/cpulist": "0-3"}
    for cpu in range(4):
        files |= all_caches(cpu, "0-3")
    description = read(tree(files), (1, 3))
    assert (description.cpus, description.l3_groups, description.sockets, description.nodes) == (
        (1, 3),
        ((1, 3),),
        ((1, 3),),
        ((1, 3),),
    )


def test_a_host_without_cache_information(tree: Tree) -> None:
    description = read(tree(host_files("0-3", ALONE)))
    assert (description.caches, description.l3_groups, description.nodes, description.model) == (
        (),
        (),
        (),
        "",
    )
    assert description.sockets == ((0, 1, 2, 3),)


def test_a_host_without_topology(tree: Tree) -> None:
    description = read(tree(host_files("0-3", {})))
    assert (description.sockets, description.cores) == ((), ((0,), (1,), (2,), (3,)))


def test_one_cpu_that_does_not_tell_its_l3_makes_the_groups_unknown(tree: Tree) -> None:
    files = host_files("0-1", {0: "0", 1: "1"}) | all_caches(0, "0-1")
    assert read(tree(files), (0, 1)).l3_groups == ()


def test_a_cpu_in_no_node_makes_the_nodes_unknown(tree: Tree) -> None:
    files = host_files("0-3", ALONE) | {"sys/devices/system/node/node0/cpulist": "0-2"}
    assert read(tree(files)).nodes == ()


def test_nonsense_is_as_good_as_nothing(tree: Tree) -> None:
    files = host_files("0-3", ALONE)
    files |= cache_files(0, 0, "1", "Data", "many", "0", "8")
    files |= cache_files(0, 1, "1", "Magic", "32K", "0", "8")
    files |= cache_files(0, 2, "0", "Unified", "1M", "0", "8")
    files |= cache_files(0, 3, "3", "Unified", "0K", "0", "8")
    files |= cache_files(0, 4, "2", "Unified", "512K", "x-y", "0")
    assert read(tree(files)).caches == (CacheDescription(2, "Unified", 512 << 10, None, 64, ()),)
