"""Topology, pins and placement on hosts made of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchgate.base.cells import Placement
from benchgate.base.errors import HostError, UsageError
from benchgate.host import topology
from tests.unit.conftest import Tree, host_files, topology_files

FOUR_BY_TWO = {n: f"{n % 4},{n % 4 + 4}" for n in range(8)}
"""4 cores, 8 threads, numbered as Linux does on Intel: CPU 4 is the other hyperthread of CPU 0's core."""
TWO_ALONE = {0: "0", 1: "1"}


def test_four_cores_with_eight_threads(tree: Tree) -> None:
    host_topology = topology.read(tree(host_files("0-7", FOUR_BY_TWO)), affinity=range(8))
    assert (host_topology.sockets, host_topology.cores, len(host_topology.online), host_topology.smt) == (
        1,
        4,
        8,
        True,
    )
    assert (host_topology.source, host_topology.hypervisor, host_topology.hidden) == ("sysfs", False, False)
    assert topology.choose_pins(host_topology) == (0, 1, 2, 3)
    assert topology.choose_pins(host_topology, include_smt=True) == (0, 1, 2, 3, 4, 5, 6, 7)


def test_hyperthreads_with_neighbouring_numbers(tree: Tree) -> None:
    cores = {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}
    host_topology = topology.read(tree(host_files("0-3", cores)), affinity=range(4))
    assert topology.choose_pins(host_topology) == (0, 2)
    assert topology.choose_pins(host_topology, include_smt=True) == (0, 2, 1, 3)


def test_the_cores_of_one_socket_come_first_where_the_sockets_are_numbered_in_turn(tree: Tree) -> None:
    files = host_files("0-7", FOUR_BY_TWO) | topology_files(FOUR_BY_TWO, {n: n % 2 for n in range(8)})
    host_topology = topology.read(tree(files), affinity=range(8))
    assert topology.choose_pins(host_topology) == (0, 2, 1, 3)
    assert topology.choose_pins(host_topology, include_smt=True) == (0, 2, 1, 3, 4, 6, 5, 7)


@pytest.mark.parametrize(
    ("pins", "cpus", "expected"),
    [
        ((0,), 1, Placement.PHYSICAL),
        ((0, 1), 2, Placement.PHYSICAL),
        ((0, 4), 2, Placement.SMT),
        ((0, 1, 4), 2, Placement.PHYSICAL),
        ((0, 1, 4), 3, Placement.SMT),
        ((0, 1), 3, Placement.OVERSUBSCRIBED),
        ((), 1, Placement.OVERSUBSCRIBED),
    ],
)
def test_placement(tree: Tree, pins: tuple[int, ...], cpus: int, expected: Placement) -> None:
    host_topology = topology.read(tree(host_files("0-7", FOUR_BY_TWO)), affinity=range(8))
    assert topology.placement(host_topology, pins, cpus) is expected


def test_a_hypervisor_that_shows_no_hyperthreads_may_hide_them(tree: Tree) -> None:
    host_topology = topology.read(tree(host_files("0-1", TWO_ALONE, flags="hypervisor")), affinity=(0, 1))
    assert host_topology.hidden
    assert topology.placement(host_topology, (0, 1), 2) is Placement.VIRTUAL
    assert topology.placement(host_topology, (0,), 2) is Placement.OVERSUBSCRIBED


def test_a_hypervisor_that_shows_hyperthreads_is_trusted(tree: Tree) -> None:
    host_topology = topology.read(tree(host_files("0-7", FOUR_BY_TWO, flags="hypervisor")), affinity=range(8))
    assert not host_topology.hidden
    assert topology.placement(host_topology, (0, 1), 2) is Placement.PHYSICAL


def test_cores_without_hyperthreads_on_bare_metal_are_physical(tree: Tree) -> None:
    host_topology = topology.read(tree(host_files("0-1", TWO_ALONE)), affinity=(0, 1))
    assert topology.placement(host_topology, (0, 1), 2) is Placement.PHYSICAL


def test_without_topology_files_sockets_and_cores_are_unavailable(tree: Tree) -> None:
    host_topology = topology.read(tree(host_files("0-1", {})), affinity=(0, 1))
    assert (host_topology.source, host_topology.sockets, host_topology.cores, host_topology.hidden) == (
        "unavailable",
        None,
        None,
        True,
    )
    assert topology.choose_pins(host_topology) == (0, 1)


def test_without_sys_the_affinity_mask_is_used(tmp_path: Path) -> None:
    host_topology = topology.read(tmp_path, affinity=(1, 3))
    assert (host_topology.online, host_topology.source) == ((1, 3), "unavailable")
    reported = [getattr(host_topology.isolation, name) for name in host_topology.isolation.__slots__]
    assert reported == ["unavailable"] * 5


def test_without_any_online_cpu_it_fails(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="which CPUs are online"):
        topology.read(tmp_path, affinity=())


def test_an_offline_cpu(tree: Tree) -> None:
    cores = {0: "0", 1: "1", 3: "3"}
    host_topology = topology.read(tree(host_files("0-1,3", cores, present="0-3")), affinity=(0, 1, 3))
    assert host_topology.usable == (0, 1, 3)
    said = r"^--cpus: CPU 2 is offline\. .* 0-1,3 online and 2 offline; .* may use 0-1,3\.$"
    with pytest.raises(UsageError, match=said):
        topology.choose_pins(host_topology, (0, 2))


def test_the_error_for_missing_cpus_names_the_existing_ones(tree: Tree) -> None:
    host_topology = topology.read(tree(host_files("0-1", TWO_ALONE)), affinity=(0, 1))
    said = r"^--cpus: CPU 2 does not exist; CPU 3 .* 0-1 online; this process may use 0-1\.$"
    with pytest.raises(UsageError, match=said):
        topology.choose_pins(host_topology, (0, 1, 2, 3))


def test_the_affinity_mask_limits_the_pins(tree: Tree) -> None:
    host_topology = topology.read(tree(host_files("0-7", FOUR_BY_TWO)), affinity=(1, 4, 5))
    assert topology.choose_pins(host_topology) == (1, 4)  # 5 shares its core with 1
    assert topology.choose_pins(host_topology, (5, 4)) == (5, 4)
    with pytest.raises(
        UsageError, match=r"CPU 0 is outside this process's affinity mask\. .* may use 1,4-5\."
    ):
        topology.choose_pins(host_topology, (0, 1))


def test_a_mask_without_any_online_cpu_is_refused(tree: Tree) -> None:
    host_topology = topology.read(tree(host_files("0-1", TWO_ALONE)), affinity=(7,))
    with pytest.raises(UsageError, match="affinity mask"):
        topology.choose_pins(host_topology)


@pytest.mark.parametrize(("cpus", "message"), [((0, 0), "CPU 0 is named 2 times"), ((), "no CPU is named")])
def test_pins_must_be_distinct_and_not_empty(tree: Tree, cpus: tuple[int, ...], message: str) -> None:
    host_topology = topology.read(tree(host_files("0-1", TWO_ALONE)), affinity=(0, 1))
    with pytest.raises(UsageError, match=message):
        topology.choose_pins(host_topology, cpus)


def test_isolated_cpus(tree: Tree) -> None:
    files = host_files(
        "0-3",
        {n: str(n) for n in range(4)},
        isolated="2-3",
        nohz_full="2-3",
        cmdline="isolcpus=domain,managed_irq,2-3 nohz_full=2-3 rcu_nocbs=1-3",
    )
    host_topology = topology.read(tree(files), affinity=(0, 1))
    assert (host_topology.isolation.isolcpus, host_topology.isolation.nohz_full) == ("2-3", "2-3")
    assert host_topology.isolation.rcu_nocbs == "1-3"
    assert topology.isolated_by(host_topology, (2, 3)) == ("isolcpus", "nohz_full", "rcu_nocbs")
    assert topology.isolated_by(host_topology, (1, 2)) == ("rcu_nocbs",)
    assert topology.isolated_by(host_topology, ()) == ()
    with pytest.raises(UsageError, match=r"because it is isolated \(start with: taskset -c 0-3"):
        topology.choose_pins(host_topology, (2, 3))


def test_flags_of_isolcpus_are_not_cpus(tree: Tree) -> None:
    files = host_files("0-3", {n: str(n) for n in range(4)}, cmdline="isolcpus=domain,managed_irq,2-3")
    root = tree(files)
    (root / "sys/devices/system/cpu/isolated").unlink()
    assert topology.read(root, affinity=range(4)).isolation.isolcpus == "2-3"


def test_no_isolation_is_none_and_not_unavailable(tree: Tree) -> None:
    isolation = topology.read(tree(host_files("0-1", TWO_ALONE)), affinity=(0, 1)).isolation
    assert (isolation.isolcpus, isolation.nohz_full, isolation.rcu_nocbs) == ("none", "none", "none")
    assert (isolation.service_manager, isolation.cpuset) == ("none", "unavailable")


@pytest.mark.parametrize(
    ("cgroup", "file", "text", "expected"),
    [
        ("0::/ci.slice", "sys/fs/cgroup/ci.slice/cpuset.cpus.effective", "1", "1"),
        ("0::/ci.slice", "sys/fs/cgroup/ci.slice/cpuset.cpus.effective", "0-1", "none"),
        ("3:cpuset:/ci\n0::/", "sys/fs/cgroup/cpuset/ci/cpuset.effective_cpus", "0", "0"),
        ("4:cpu,cpuset:/ci", "sys/fs/cgroup/cpuset/ci/cpuset.cpus", "1", "1"),
    ],
)
def test_the_control_group(tree: Tree, cgroup: str, file: str, text: str, expected: str) -> None:
    root = tree(host_files("0-1", TWO_ALONE, cgroup=cgroup) | {file: text})
    assert topology.read(root, affinity=(0, 1)).isolation.cpuset == expected


def test_a_service_manager_with_limited_cpus(tree: Tree) -> None:
    host_topology = topology.read(
        tree(host_files("0-3", {n: str(n) for n in range(4)}, manager="0-1")), affinity=(0, 1)
    )
    assert host_topology.isolation.service_manager == "0-1"


def test_this_host_has_pins() -> None:
    host_topology = topology.read()
    pins = topology.choose_pins(host_topology)
    assert pins
    assert set(pins) <= os.sched_getaffinity(0)
