"""The topology on a real kernel's sysfs is what QEMU was asked for: `nox -s nested-kvm -- --shapes`.

The command line of the kernel has `nested.shape=SOCKETS,CORES,THREADS`: the cores of each socket and the
threads of each core.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.base.cells import Placement
from benchgate.base.errors import UsageError
from benchgate.host import topology

GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture(scope="module")
def shape() -> tuple[int, int, int]:
    match = re.search(r"nested\.shape=(\d+),(\d+),(\d+)", Path("/proc/cmdline").read_text())
    assert match, "this machine was not booted with --shapes"
    return int(match[1]), int(match[2]), int(match[3])


@pytest.fixture
def whole_mask() -> Iterator[None]:
    """All CPUs that are online, isolated ones too; as it was, afterwards."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.usefixtures("whole_mask")
def test_sockets_cores_and_threads_are_those_of_the_machine(shape: tuple[int, int, int]) -> None:
    sockets, cores, threads = shape
    seen = topology.read()
    assert (seen.sockets, seen.cores, len(seen.online)) == (
        sockets,
        sockets * cores,
        sockets * cores * threads,
    )
    assert {len(cpu.siblings) for cpu in seen.cpus} == {threads}
    assert seen.source == "sysfs"
    assert not seen.hypervisor
    assert seen.smt is (threads > 1)


@pytest.mark.usefixtures("whole_mask")
def test_the_default_pins_are_one_cpu_of_each_core(shape: tuple[int, int, int]) -> None:
    sockets, cores, threads = shape
    seen = topology.read()
    pins = topology.choose_pins(seen)
    assert len(pins) == sockets * cores
    assert topology.placement(seen, pins, len(pins)) is Placement.PHYSICAL
    assert topology.placement(seen, pins, len(pins) + 1) is Placement.OVERSUBSCRIBED
    every = topology.choose_pins(seen, include_smt=True)
    assert sorted(every) == list(seen.online)
    assert every[: len(pins)] == pins
    if threads > 1:
        assert topology.placement(seen, every, len(pins) + 1) is Placement.SMT


@pytest.mark.usefixtures("whole_mask")
def test_an_offline_cpu_is_no_pin() -> None:
    last = max(topology.read().online)
    switch = Path(f"/sys/devices/system/cpu/cpu{last}/online")
    switch.write_text("0")
    try:
        seen = topology.read()
        assert last not in seen.online
        assert last in {cpu.number for cpu in seen.cpus}
        assert last not in topology.choose_pins(seen, include_smt=True)
        with pytest.raises(UsageError, match=f"CPU {last} is offline"):
            topology.check_pins(seen, [last])
    finally:
        switch.write_text("1")
    assert last in topology.read().online


@pytest.mark.usefixtures("whole_mask")
def test_a_cpu_outside_the_mask_is_no_pin() -> None:
    os.sched_setaffinity(0, {0, 1})
    seen = topology.read()
    assert seen.usable == (0, 1)
    assert set(topology.choose_pins(seen)) <= {0, 1}
    with pytest.raises(UsageError, match="CPU 2 is outside this process's affinity mask"):
        topology.check_pins(seen, [2])


@pytest.mark.usefixtures("whole_mask")
def test_a_cpuset_confines_the_pins() -> None:
    (GROUPS / "cgroup.subtree_control").write_text("+cpuset")
    group = GROUPS / "confined"
    group.mkdir()
    (group / "cpuset.cpus").write_text("0-1")
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        seen = topology.read()
        assert seen.isolation.cpuset == "0-1"
        assert seen.usable == (0, 1)
    finally:
        (GROUPS / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


def test_isolated_cpus_are_those_of_the_command_line() -> None:
    asked = re.search(r"isolcpus=(\S+)", Path("/proc/cmdline").read_text())
    seen = topology.read()
    assert seen.isolation.isolcpus == (asked[1] if asked else "none")
    isolated = {value for value in seen.online if asked and 4 <= value <= 7}
    assert not isolated & set(seen.usable)
    for number in isolated:
        with pytest.raises(UsageError, match=r"because it is isolated .start with: taskset"):
            topology.check_pins(seen, [number])
