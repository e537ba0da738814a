"""A QEMU, its command line as a pure function, and the devices of a guest beside its CPUs: disks and a card.

Takes a `Qemu` and the properties of the virtual machine; gives a reproducible argv, without temporary paths,
ports or socket names. Contradictory arguments fail with ValueError.

Takes `Disk`s in the order of the YAML and the paths of their images, or the ports of a system and the host's
port for each; gives words for that command line, and reads the host's ports back from one. Every boot gets a
fresh snapshot of a disk: what the guest writes goes to a temporary file that QEMU deletes, and the image
stays as it is. The guest reaches nothing by its card: neither this host nor another one. Reading fails with
ValueError if the command line has other ports than the system; whether the machine has a disk's interface
shows when QEMU starts.

`CONTROLLED` guests have their console on standard input and output and QMP on descriptor 3. The console is a
pipe and not a socket: QEMU writes byte by byte, and on a Unix socket each byte takes a buffer of its own.
After 278 bytes the socket is full and the guest waits for the host to read; a pipe takes 1 MiB. On the
instruction clock the guest's wait loops count, so a run repeats exactly only if the host's reader never
delays the guest. QMP is an inherited socket: it leaves no path to remove, and no other process can connect.
QEMU's own test library does the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from benchgate.base.cells import Accel
from benchgate.base.system.arch import X86_64, Architecture
from benchgate.base.yaml.keys import Choice, FilledText, Integer

QMP_DESCRIPTOR = 3
NAME_TAG = "benchgate-"
GOOD_EXIT = 33
"""QEMU's exit status when a guest writes 0x10, success, to isa-debug-exit."""

SERIAL, VIRTIO = "serial", "virtio"
CONSOLES: Mapping[str, tuple[str, ...]] = {
    SERIAL: ("-serial", "chardev:console"),
    VIRTIO: ("-device", "virtio-serial-pci", "-device", "virtconsole,chardev=console"),
}
"""The devices that a guest can print on, with their QEMU options."""


def controlled(console: str = SERIAL) -> tuple[str, ...]:
    """The options with which the guest waits for `cont` over QMP before its first instruction."""
    return (
        *("-S", "-chardev", "stdio,id=console,signal=off", *CONSOLES[console]),
        *("-chardev", f"socket,id=qmp,fd={QMP_DESCRIPTOR}", "-mon", "chardev=qmp,mode=control"),
    )


CONTROLLED = controlled()
ON_STDIO = ("-serial", "stdio")
"""With these options the guest starts at once, with its console on standard input and output."""

_ACCELERATORS = {Accel.TCG: "tcg,thread=multi", Accel.KVM: "kvm"}
DEFAULT_MODEL = "qemu64"
_CMPXCHG16B_FIXED = (8, 0, 0)


@dataclass(frozen=True, slots=True)
class Qemu:
    """A QEMU that is known to start. `data`: folders for -L; `digest`: of the program and its ROMs."""

    binary: Path
    environment: Mapping[str, str] = field(hash=False)
    data: tuple[Path, ...]
    version: tuple[int, int, int]
    digest: str
    origin: str = ""
    labels: tuple[str, ...] = ()
    guest: Architecture = X86_64
    """The architecture that it emulates."""

    @property
    def version_text(self) -> str:
        return ".".join(map(str, self.version))


def command(  # noqa: PLR0913 - every argument is an option of QEMU
    qemu: Qemu,
    *,
    machine: str,
    console: tuple[str, ...] = (),
    accel: Accel | None = None,
    cpu: str = "",
    memory: str = "",
    smp: str = "",
    kernel: Path | None = None,
    initrd: Path | None = None,
    append: str = "",
    extra: tuple[str, ...] = (),
    name: str = "",
    one_insn: bool = False,
) -> tuple[str, ...]:
    """The argv of one boot. `name` should contain the run's nonce, by which stale guests are recognised.
    `one_insn`: TCG translates each instruction as a block of its own."""
    if kernel is None and (initrd is not None or append):
        raise ValueError("an initrd or a kernel command line needs a kernel")
    argv = [str(qemu.binary)]
    for folder in qemu.data:
        argv += ["-L", str(folder)]
    if name:
        argv += ["-name", f"guest={comma_safe(name)},debug-threads=on"]
    argv += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", machine]
    if accel is not None:
        argv += ["-accel", _ACCELERATORS[accel] + (",one-insn-per-tb=on" if one_insn else "")]
        cpu = _safe_cpu(cpu, accel, qemu.version) if qemu.guest is X86_64 else cpu
    for option, value in (("-cpu", cpu), ("-m", memory), ("-smp", smp)):
        argv += [option, value] if value else []
    argv += console
    if console or kernel is not None:
        argv += qemu.guest.exit_device
    if kernel is not None:
        argv += ["-kernel", str(kernel)]
    if initrd is not None:
        argv += ["-initrd", str(initrd)]
    if append:
        argv += ["-append", append]
    return (*argv, *extra)


def smp_option(template: str, cpus: int) -> str:
    """Fills a system's `-smp` template, such as `{n}` or `{n},sockets={n}`."""
    if "{n}" not in template:
        raise ValueError(f"the smp template {template!r} has no {{n}} for the CPU count")
    return template.replace("{n}", str(cpus))


def guest_name(nonce: str) -> str:
    return NAME_TAG + nonce


def comma_safe(word: str) -> str:
    """Doubles commas, as QEMU's option syntax requires inside a value."""
    return word.replace(",", ",,")


def _safe_cpu(model: str, accel: Accel, version: tuple[int, int, int]) -> str:
    """The CPU model without `cmpxchg16b` if QEMU emulates it wrongly, unless the model names cx16 itself.

    QEMU before 8.0 emulates it with stale condition flags (`gen_helper_cmpxchg16b` is called without
    `gen_update_cc_op`), so EFLAGS, including the trap flag, may be corrupt afterwards. Linux's allocator uses
    the instruction often: 8 of 216 boots of Linux 6.12 on QEMU 7.2.22 at 2 CPUs panicked, in the allocator or
    by a debug trap; without the instruction 0 of 180.
    """
    if accel is not Accel.TCG or version >= _CMPXCHG16B_FIXED or "cx16" in model:
        return model
    return f"{model or DEFAULT_MODEL},-cx16"


FORMATS = ("raw", "qcow2", "vdi", "vmdk", "vpc")
CARD = "virtio-net-pci"
MOST_PORTS = 16
HIGHEST_PORT = 65535
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
    image: Annotated[str, FilledText("the image, of which each boot gets a new snapshot; may contain {n}")]
    format: Annotated[str, Choice("its format", FORMATS)] = "raw"
    interface: Annotated[Interface, Choice("how it is attached")] = Interface.VIRTIO


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


def disk_options(
    disks: Sequence[Disk], images: Sequence[Path], sharing: str = "snapshot=on"
) -> tuple[str, ...]:
    """QEMU's options for the disks, which are numbered per interface. `images` has the file of each, and
    `sharing` says whether the guest writes to it."""
    argv: list[str] = []
    for number, (disk, image) in enumerate(zip(disks, images, strict=True)):
        content = f"file={comma_safe(str(image))},format={disk.format},{sharing}"
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
    guest: Annotated[int, Integer("the port in the guest", low=1, high=HIGHEST_PORT)]
    host: Annotated[int, Integer("the port on this host; 0: a free one", high=HIGHEST_PORT)] = 0


def network_options(ports: Mapping[str, Port], hosts: Mapping[str, int], card: str) -> tuple[str, ...]:
    """A network card whose only traffic is from the host to these ports; nothing without ports."""
    if not ports:
        return ()
    forward = "".join(f",hostfwd=tcp:127.0.0.1:{hosts[name]}-:{port.guest}" for name, port in ports.items())
    return ("-netdev", f"user,id=net0,restrict=on{forward}", "-device", f"{card},netdev=net0,romfile=")


def host_ports(argv: Sequence[str], ports: Mapping[str, Port]) -> dict[str, int]:
    """Maps each of the system's ports to the host's port."""
    forwards = [pair for word in argv for pair in _FORWARD.findall(word)] if ports else []
    if [guest for _, guest in forwards] != [str(port.guest) for port in ports.values()]:
        raise ValueError("the command line has other host ports than the system's YAML")
    return {name: int(host) for name, (host, _) in zip(ports, forwards, strict=True)}
