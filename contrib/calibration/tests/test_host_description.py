"""What hosts made of files tell of who shares their caches, and of their nodes."""

from __future__ import annotations

from pathlib import Path

from benchgate.host import topology
from contrib.calibration import host_description
from contrib.calibration.host_description import HostDescription
from tests.unit.conftest import Tree, host_files
from tests.unit.host.test_caches import all_caches

ALONE = {0: "0", 1: "1", 2: "2", 3: "3"}


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
