"""Linux sees the sockets, clusters and nodes of its machine, on each architecture."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from benchgate.base.cells import Accel
from benchgate.base.errors import FetchError
from benchgate.base.process import capture
from benchgate.base.system.arch import AARCH64, RISCV64, X86_64, Architecture
from benchgate.base.system.guest_topology import topology_of
from benchgate.base.system.qemu import ON_STDIO, command
from benchgate.base.system.systems import System
from benchgate.build.fetch import inputs
from benchgate.build.programs import initramfs
from benchgate.insn.arguments import ClockArguments, ClockRun, arguments
from benchgate.insn.log_reader import read_log
from benchgate.insn.machine_shape import capacities_of, shape_of
from benchgate.insn.plugin import prepare
from benchgate.plan import catalog
from benchgate.run.argv import NO_CLOCK
from tests.barekit import GUESTS, compiler_for, qemu_for
from tests.machines import PATIENCE_S
from tests.unit.machines import duo

SOURCE = Path(__file__).parents[1] / "data" / "topology" / "init.c"
LINE = re.compile(r"^@ (\S+) = (.*?)\s*$", re.MULTILINE)
MEMORY = re.compile(r"MemTotal:\s+([0-9]+) kB")


@cache
def archive(guest: Architecture, folder: Path) -> Path:
    program = folder / f"init-{guest}"
    argv = [*compiler_for(guest).argv, "-static", "-O1", "-Wall", "-Werror", str(SOURCE), "-o", str(program)]
    subprocess.run(argv, check=True, timeout=PATIENCE_S)
    made = folder / f"{guest}.cpio"
    made.write_bytes(initramfs({"init": program.read_bytes()}))
    return made


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("topology")


def linux(guest: Architecture) -> System:
    return catalog.load_system("linux" if guest is X86_64 else f"linux:arch={guest}")


def kernel_of(guest: Architecture) -> Path:
    """A package source may be changing just now; then its Linux for other processors is absent."""
    try:
        return inputs.linux_kernel(guest=guest).image
    except FetchError as error:
        if guest is X86_64 or "Mirror sync in progress" not in str(error):
            raise
        pytest.skip(str(error))


def seen(system: System, cpus: int, images: Path, clock: ClockArguments = NO_CLOCK) -> dict[str, str]:
    """What Linux says of this many CPUs, by the file's place below /sys/devices/system."""
    qemu, told = qemu_for(system.arch), topology_of(system, cpus)
    argv = command(
        qemu,
        machine=system.qemu.machine,
        accel=Accel.TCG,
        cpu="max",
        memory=system.qemu.memory,
        smp=told.smp,
        console=ON_STDIO,
        kernel=kernel_of(system.arch),
        initrd=archive(system.arch, images),
        append=system.boot.append,
        extra=(*told.arguments, *clock.argv_extra),
    )
    done = capture(argv, PATIENCE_S, {**os.environ, **qemu.environment, **clock.environment})
    result = dict(LINE.findall(done.stdout))
    assert result, done.stdout + done.stderr
    return result


def numbered(guest: Architecture) -> list[list[str]]:
    """The CPUs of both nodes. On RISC-V the hart that comes first boots, and Linux gives it number 0: in wall
    time any of them may, and then the others follow in order."""
    if guest in (X86_64, AARCH64):
        return [["0-1", "2-3"]]
    return [["0-1", "2-3"], ["1-2", "0,3"]]


@pytest.mark.parametrize("guest", GUESTS, ids=str)
def test_linux_sees_the_nodes_their_memory_the_clusters_and_the_sockets(
    guest: Architecture, images: Path
) -> None:
    small = duo(clusters='["0", "1", "2", "3"]', transfer="{cluster_ns: 20, across_ns: 40, socket_ns: 90}")
    result = seen(linux(guest).on(small), 4, images)
    assert [result[f"node/node{node}/cpulist"] for node in (0, 1)] in numbered(guest)
    assert [result[f"node/node{node}/distance"] for node in (0, 1)] == ["10 17", "17 10"]
    first, second = (int(MEMORY.findall(result[f"node/node{node}/meminfo"])[0]) for node in (0, 1))
    assert 250_000 < first <= 393_216  # 384 MiB, less what the kernel itself takes
    assert 65_000 < second <= 131_072
    packages = [result[f"cpu/cpu{cpu}/topology/physical_package_id"] for cpu in range(4)]
    if guest in (X86_64, AARCH64):  # RISC-V's Linux knows no sockets
        assert packages[0] == packages[1] != packages[2] == packages[3]
    if guest is AARCH64:  # only there does QEMU tell of clusters in a way that Linux knows
        clusters = [result[f"cpu/cpu{cpu}/topology/cluster_cpus_list"] for cpu in range(4)]
        assert clusters == ["0", "1", "2", "3"]


@pytest.mark.long  # QEMU is told of none (tests/unit/base/system/test_guest_topology.py)
def test_without_a_machine_linux_sees_one_node(images: Path) -> None:
    result = seen(linux(X86_64), 4, images)
    assert result["node/node0/cpulist"] == "0-3"
    assert "node/node1/cpulist" not in result


@pytest.mark.parametrize(
    ("guest", "machine", "small"),
    [(AARCH64, "biglittle8", 462), (RISCV64, "biglittle8", 462), (AARCH64, "biglittle8mem", 397)],
    ids=str,
)
def test_linux_is_told_of_the_capacities_of_its_cpus(
    guest: Architecture, machine: str, small: int, images: Path, tmp_path: Path
) -> None:
    """As the machine's file has them, which is Linux's own scale."""
    system = linux(guest).on(catalog.load_machine(machine) or pytest.fail("there is no such machine"))
    shape = tmp_path / "machine.shape"
    shape.write_text(shape_of(system, 4))
    run = ClockRun(
        tmp_path / "clock.log",
        cpus=4,
        guest=guest,
        machine=system.qemu.machine,
        shape=shape if system.memory_machine else None,
        capacities=capacities_of(system, 4),
    )
    result = seen(system, 4, images, arguments(prepare(qemu_for(guest)), run))
    assert [result[f"cpu/cpu{cpu}/cpu_capacity"] for cpu in range(4)] == ["1024", str(small)] * 2
    assert read_log(run.log).checks["told_capacities"] == 4
