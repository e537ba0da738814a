"""A task as the Linux guest has it, on the instruction clock, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchgate.base.cells import Cell, Mode, Placement
from benchgate.base.runs import Deadlines
from benchgate.fleet.task import FolderFile, GuestFile, Item, Place, Task, WorkerPath, templated
from benchgate.run.watch import GUEST_WATCH

NONCE = "0123456789abcdef"
SHA = {
    name: f"{number:x}" * 64 for number, name in enumerate(("qemu", "clock", "kernel", "initrd", "disk"), 1)
}
PLACES: Mapping[str, Place] = {
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
