"""A task as the Linux guest has it, on the instruction clock, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchgate.base.cells import Accel, Cell, Lane, Mode, Placement
from benchgate.base.exploration import Exploration
from benchgate.base.runs import Deadlines, Image
from benchgate.base.snapshots import GuestSnapshot, SnapshotRecord
from benchgate.base.system.guest_topology import backends_of
from benchgate.base.system.qemu import Qemu
from benchgate.base.system.systems import System
from benchgate.features.fleet.packing import packed
from benchgate.features.fleet.task import (
    FolderFile,
    GuestFile,
    Item,
    StandIn,
    Task,
    WorkerPath,
    task_of_bytes,
    templated,
)
from benchgate.plan import catalog
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run.argv import BootOptions, VmConfig, guest_spec
from benchgate.run.attempt import RunRequest
from benchgate.run.watch import GUEST_WATCH
from tests.unit.plans import planned

NONCE = "0123456789abcdef"
SHA = {
    name: f"{number:x}" * 64 for number, name in enumerate(("qemu", "clock", "kernel", "initrd", "disk"), 1)
}
PLACES: Mapping[str, StandIn] = {
    "/cache/qemu/aa/bin/qemu-system-x86_64": WorkerPath("qemu"),
    "/cache/qemu/aa/share/qemu": WorkerPath("data0"),
    "/cache/qemu/aa/share/seabios": WorkerPath("data1"),
    "/cache/insn/bb/clock.so": WorkerPath("plugin"),
    "/cache/linux/cc/vmlinuz": GuestFile(SHA["kernel"]),
    "/cache/initramfs/dd/initrd": GuestFile(SHA["initrd"]),
    "/runs/1/clock.log": FolderFile("clock.log"),
}
ARGV = (
    "/cache/qemu/aa/bin/qemu-system-x86_64",
    *("-L", "/cache/qemu/aa/share/qemu", "-L", "/cache/qemu/aa/share/seabios"),
    *("-name", f"guest=benchgate-{NONCE},debug-threads=on", "-nodefaults", "-no-user-config"),
    *("-display", "none", "-no-reboot", "-machine", "q35,sata=off,smbus=off", "-accel", "tcg,thread=multi"),
    *("-cpu", "qemu64,-cx16", "-m", "512M", "-smp", "2", "-S"),
    *("-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"),
    *("-chardev", "socket,id=qmp,fd=3", "-mon", "chardev=qmp,mode=control"),
    *("-device", "isa-debug-exit,iobase=0xf4,iosize=4"),
    *("-kernel", "/cache/linux/cc/vmlinuz", "-initrd", "/cache/initramfs/dd/initrd"),
    *("-append", "console=ttyS0 init=/init bench.workload=primes"),
    *("-plugin", "/cache/insn/bb/clock.so,out=/runs/1/clock.log,seed=1,quantum=5000,bytes=0:2:1:2"),
    *("-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", "1", "-global", "apic.vapic=off"),
    *("-machine", "hpet=off"),
)


def task(**changed: Any) -> Task:
    made = Task(
        cell=Cell("linux", "primes", Mode.PROCESS, (("limit", 1000),), 2),
        nonce=NONCE,
        seed=1,
        placement=Placement.OVERSUBSCRIBED,
        guest_digest="e" * 64,
        items=tuple(Item(role, SHA[role]) for role in ("qemu", "clock", "kernel", "initrd")),
        argv=templated(ARGV, PLACES),
        deadlines=Deadlines(60.0, 60.0),
        cpus=2,
        watch=GUEST_WATCH,
    )
    return replace(made, **changed)


RUN, KEPT = Path("/runs/0001"), Path("/cache/snapshot/ee/files")
QEMU_HERE = Qemu(
    Path("/cache/qemu/aa/bin/qemu-system-x86_64"),
    {},
    (Path("/cache/qemu/aa/share/qemu"), Path("/cache/qemu/aa/share/seabios")),
    (10, 0, 2),
    SHA["qemu"],
)
CLOCK_HERE = Path("/cache/insn/bb/clock.so")
IMAGE_HERE = Image(
    Path("/cache/linux/cc/vmlinuz"),
    Path("/cache/initramfs/dd/initrd"),
    None,
    {"kernel": SHA["kernel"], "initrd": SHA["initrd"], "start": "9" * 64, "kernel_config": "f" * 64},
    start=Path("/cache/start/ff/start.cpio"),
    later=frozenset({"initrd"}),
)
WAITING_HERE = Image(
    Path("/cache/system/11/warm.elf"),
    None,
    Path("/cache/system/22/primes.elf"),
    {"kernel": "7" * 64, "program": "8" * 64},
    later=frozenset({"program"}),
)
"""A kernel that waits for its command line and its program."""
SHA_HERE: Mapping[Path, str] = {
    path: image.digests[name] for image in (IMAGE_HERE, WAITING_HERE) for name, path in image.files.items()
}


def image_here(cell: PlannedCell) -> Image:
    return IMAGE_HERE if cell.system.boot.waiting is None else WAITING_HERE


def record(system: System, cpus: int) -> SnapshotRecord:
    names = (
        [f"ram-node{memory_range.node}" for memory_range in backends_of(system, cpus)]
        if has_nodes(system)
        else ["ram"]
    )
    names += [] if system.memory_machine is None else ["caches"]
    return SnapshotRecord(1_500_000_000, 70, 3, dict.fromkeys((*names, "state"), "a" * 64), {"x": "y"})


def has_nodes(system: System) -> bool:
    return system.memory_machine is not None and len(system.memory_machine.nodes) > 1


def warm_cell(word: str = "linux:start=warm", machine: str = "ideal") -> PlannedCell:
    system, on = catalog.load_system(word), catalog.load_machine(machine)
    system = system if on is None else system.on(on)
    return replace(planned(2), system=system, seats=Seats(Lane.INSN, Placement.VIRTUAL, ()))


def vm_here(cell: PlannedCell) -> VmConfig:
    return VmConfig(replace(QEMU_HERE, guest=cell.system.arch), Accel.TCG, "qemu64", CLOCK_HERE)


def warm_request(planned_cell: PlannedCell, explored: Exploration | None = None) -> RunRequest:
    """A run of seed 9 that starts at a snapshot of boot 3, as a session asks for it."""
    start = GuestSnapshot(KEPT, record(planned_cell.system, planned_cell.cell.cpus))
    boot = BootOptions(NONCE, log=RUN / "clock.log", seed=9, start=start, exploration=explored)
    spec = guest_spec(planned_cell, image_here(planned_cell), vm_here(planned_cell), boot)
    return RunRequest(
        planned_cell.cell, spec, RUN, NONCE, 1, 0, 9, Placement.VIRTUAL, False, "e" * 64, watch=GUEST_WATCH
    )


def warm_task(cell: PlannedCell | None = None, explored: Exploration | None = None) -> Task:
    made = warm_request(cell or warm_cell(), explored)
    return task_of_bytes(packed(made, lambda path: SHA_HERE[path], SHA["clock"]).sent)
