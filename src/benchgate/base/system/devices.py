"""The devices of a guest beside its CPUs: disks and a network card, as options of QEMU. Pure.

Takes `Disk`s in the order of the YAML and the paths of their images, or the ports of a system and the host's
port for each; gives words for QEMU's command line, and reads the host's ports back from one. Every boot gets
a fresh snapshot of a disk: what the guest writes goes to a temporary file that QEMU deletes, and the image
stays as it is. The guest reaches nothing by its card: neither this host nor another one. Reading fails with
ValueError if the command line has other ports than the system; whether the machine has a disk's interface
shows when QEMU starts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchgate.base.system.qemu import comma_safe
from benchgate.base.system.script import PORT

FORMATS = ("raw", "qcow2", "vdi", "vmdk", "vpc")
CARD = "virtio-net-pci"
MOST_PORTS = 16
_FORWARD = re.compile(r",hostfwd=tcp:127\.0\.0\.1:(\d+)-:(\d+)")


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


@dataclass(frozen=True, slots=True)
class Port:
    guest: int
    host: int = 0
    """The host's port; 0 for any free one."""


def network_options(ports: Mapping[str, Port], hosts: Mapping[str, int], card: str) -> tuple[str, ...]:
    """A network card whose only traffic is from the host to these ports; nothing without ports."""
    if not ports:
        return ()
    forward = "".join(f",hostfwd=tcp:127.0.0.1:{hosts[name]}-:{port.guest}" for name, port in ports.items())
    return ("-netdev", f"user,id=net0,restrict=on{forward}", "-device", f"{card},netdev=net0,romfile=")


def host_ports(argv: Sequence[str], ports: Mapping[str, Port]) -> dict[str, int]:
    """Maps each of the system's ports to the host's port."""
    found = [pair for word in argv for pair in _FORWARD.findall(word)] if ports else []
    if [guest for _, guest in found] != [str(port.guest) for port in ports.values()]:
        raise ValueError("the command line has other host ports than the system's YAML")
    return {name: int(host) for name, (host, _) in zip(ports, found, strict=True)}


def port_values(hosts: Mapping[str, int]) -> dict[str, int]:
    """The values of `{port.NAME}`, and of `{port}` if there is one port only."""
    named = {f"{PORT}.{name}": port for name, port in hosts.items()}
    if len(hosts) == 1:
        named[PORT] = next(iter(hosts.values()))
    return named
