"""Disks of a guest, and the options of QEMU that attach them. Pure.

Takes `Disk`s in the order of the YAML and the paths of their images; gives words for QEMU's command line.
Every boot gets a fresh snapshot: what the guest writes goes to a temporary file that QEMU deletes, and the
image stays as it is. Nothing fails; whether the machine has such an interface shows when QEMU starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchgate.base.system.qemu import comma_safe

FORMATS = ("raw", "qcow2", "vdi", "vmdk", "vpc")


class Interface(StrEnum):
    """The interface through which the guest sees a disk."""

    VIRTIO = "virtio"  # on PCI
    VIRTIO_MMIO = "virtio-mmio"  # on the buses of the boards `virt` and `microvm`
    IDE = "ide"  # SATA on machine q35
    CDROM = "cdrom"
    SCSI = "scsi"
    NVME = "nvme"
    SD = "sd"
    FLOPPY = "floppy"


@dataclass(frozen=True, slots=True)
class Disk:
    image: str
    """The path in the YAML file, which may contain {out}."""
    format: str = "raw"
    interface: Interface = Interface.VIRTIO


_DEVICES = {
    Interface.VIRTIO: ("virtio-blk-pci,drive={drive}",),
    Interface.VIRTIO_MMIO: ("virtio-blk-device,drive={drive},bus=virtio-mmio-bus.{place}",),
    Interface.SCSI: ("virtio-scsi-pci,id=bus-{drive}", "scsi-hd,drive={drive},bus=bus-{drive}.0"),
    Interface.NVME: ("nvme,drive={drive},serial={drive}",),
}
"""The devices of a disk. The other interfaces belong to the board, which takes a drive by its number."""
_BUILT_IN = {
    Interface.IDE: "if=ide,index={place},media=disk",
    Interface.CDROM: "if=ide,index={place},media=cdrom",
    Interface.SD: "if=sd,index={place}",
    Interface.FLOPPY: "if=floppy,index={place}",
}
_BUS = {Interface.CDROM: Interface.IDE}
"""Interfaces that take their numbers from the same bus as another one."""


def disk_options(disks: Sequence[Disk], images: Sequence[Path]) -> tuple[str, ...]:
    """QEMU's options for the disks, which are numbered per interface. `images` has the file of each."""
    argv: list[str] = []
    for number, (disk, image) in enumerate(zip(disks, images, strict=True)):
        content = f"file={comma_safe(str(image))},format={disk.format},snapshot=on"
        argv += _attached(disks, number, content)
    return tuple(argv)


def empty_disk(disks: Sequence[Disk], number: int) -> tuple[str, ...]:
    """The options for one disk without a file, to find out whether the machine takes it."""
    return _attached(disks, number, "driver=null-co,size=1M")


def _attached(disks: Sequence[Disk], number: int, content: str) -> tuple[str, ...]:
    interface = disks[number].interface
    buses = [_BUS.get(disk.interface, disk.interface) for disk in disks]
    names = {"drive": f"disk{number}", "place": buses[:number].count(buses[number])}
    where = _BUILT_IN.get(interface, "if=none").format(**names)
    argv = ["-drive", f"id={names['drive']},{where},{content}"]
    for device in _DEVICES.get(interface, ()):
        argv += ["-device", device.format(**names)]
    return tuple(argv)
