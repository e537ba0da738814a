"""The machines on which an unknown kernel is tried, from the plainest to the most generous. Pure.

Takes what its file is and what the user said; gives `System`s without a result, which differ in their machine
and devices only. Does not fail.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate.base.system.arch import ARCHITECTURES, Architecture
from benchgate.base.system.boots import DEFAULT_FIRMWARE, NO_FIRMWARE, BootDefinition, QemuWords
from benchgate.base.system.qemu import Disk, Interface
from benchgate.base.system.systems import System, SystemKind
from benchgate.build.kernel_file import KernelFile, Media


@dataclass(frozen=True, slots=True)
class Board:
    """One thing to try. `disk`: how the guest sees its disks there."""

    machine: str
    disk: Interface
    arguments: tuple[str, ...] = ()
    cpu: str = ""
    """If it is empty, QEMU gives all that it can, which some kernels do not expect: U-Boot 2023.01 on RISC-V
    cannot hold the list of all extensions."""


_CARD = ("-vga", "std")
_MODERN = ("-global", "virtio-mmio.force-legacy=false")
MACHINES: Mapping[str, tuple[Board, ...]] = {
    "x86_64": (
        Board("q35", Interface.VIRTIO),
        Board("pc", Interface.IDE),
        Board("pc", Interface.IDE, _CARD),  # some kernels write to the screen too, and stop without one
        Board("q35", Interface.IDE, _CARD),
    ),
    "riscv64": (
        Board("virt", Interface.VIRTIO_MMIO, _MODERN),
        Board("virt", Interface.VIRTIO),
        Board("virt", Interface.VIRTIO_MMIO),
        Board("virt", Interface.VIRTIO_MMIO, _MODERN, cpu="rv64"),
    ),
    "aarch64": (
        Board("virt,gic-version=3", Interface.VIRTIO),
        Board("virt", Interface.VIRTIO_MMIO, _MODERN),
        Board("virt,gic-version=3", Interface.VIRTIO_MMIO),  # xv6's ports: old virtio, new interrupts
        Board("virt", Interface.VIRTIO_MMIO, _MODERN, cpu="cortex-a57"),
    ),
}
SMP: Mapping[str, tuple[str, ...]] = {"x86_64": ("{n}", "{n},sockets={n}")}
"""These are tried until more than one CPU comes up. The old MP tables list sockets only."""


@dataclass(frozen=True, slots=True)
class GuestWords:
    """What the user said on the command line; empty where the file decides."""

    name: str
    out: Path
    """The YAML is written there: its paths are relative to this file's folder."""
    disks: tuple[Path, ...] = ()
    initrd: Path | None = None
    append: str = ""
    machine: str = ""
    cpu: str = ""
    firmware: str = ""
    """NO_FIRMWARE, DEFAULT_FIRMWARE or a file."""
    memory: str = "256M"
    arguments: tuple[str, ...] = ()

    @property
    def has_programs(self) -> bool:
        """True if the kernel has programs of its own to start."""
        return bool(self.disks or self.initrd)


def candidates(file: KernelFile, arch: str, given: GuestWords) -> tuple[System, ...]:
    """Gives each different one once: without disks, the kind of disk makes no difference. A machine that the
    user names gets the disks that it has, and not those of others."""
    tried = MACHINES[arch]
    if given.machine:
        same = [board for board in tried if _kind(board.machine) == _kind(given.machine)]
        tried = tuple(replace(board, machine=given.machine) for board in same or tried)
    if given.cpu:
        tried = tuple(replace(board, cpu=given.cpu) for board in tried)
    systems: list[System] = []
    for board in tried:
        for placed in _placed(file, arch):
            system = _system(placed, ARCHITECTURES[arch], given, board)
            systems += [] if system in systems else [system]
    return tuple(systems)


def _kind(machine: str) -> str:
    """The machine without its settings: `virt` of `virt,gic-version=3`."""
    return machine.partition(",")[0]


def _placed(file: KernelFile, arch: str) -> tuple[KernelFile, ...]:
    """Raw code is a kernel or takes the firmware's place. On x86 QEMU starts none as a kernel."""
    if not file.is_raw:
        return (file,)
    firmware = replace(file, media=Media.FIRMWARE)
    return (firmware,) if arch == "x86_64" else (file, firmware)


def _system(file: KernelFile, arch: Architecture, given: GuestWords, machine: Board) -> System:
    kernel = relative(file.path, given.out) if file.media is Media.KERNEL else ""
    images: tuple[Disk, ...] = ()
    if file.media is Media.DISK:
        images = (Disk(relative(file.path, given.out), *_of_disk(file, machine)),)
    disks = tuple(Disk(relative(path, given.out), "raw", machine.disk) for path in given.disks)
    modern = machine.arguments if images or disks or machine.arguments != _MODERN else ()
    words = QemuWords(machine.machine, machine.cpu, given.memory, arguments=(*modern, *given.arguments))
    return System(
        name=given.name,
        kind=SystemKind.QEMU,
        about="",
        file=given.out,
        arch=arch,
        qemu=words,
        boot=BootDefinition(
            kernel=kernel,
            initrd=relative(given.initrd, given.out) if given.initrd else "",
            append=given.append,
            disks=(*images, *disks),
            firmware=_firmware(file, given),
        ),
    )


def _firmware(file: KernelFile, given: GuestWords) -> str:
    if file.media is Media.FIRMWARE:
        return relative(file.path, given.out)
    if given.firmware in {NO_FIRMWARE, DEFAULT_FIRMWARE}:
        return given.firmware
    if given.firmware:
        return relative(Path(given.firmware), given.out)
    return NO_FIRMWARE if file.replaces_firmware else DEFAULT_FIRMWARE


def _of_disk(file: KernelFile, machine: Board) -> tuple[str, Interface]:
    return ("raw", Interface.CDROM) if file.format == "cdrom" else (file.format, machine.disk)


def relative(path: Path, out: Path) -> str:
    """The path as the YAML names it."""
    return os.path.relpath(path, out.absolute().parent)
