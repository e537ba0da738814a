"""Which command lines a worker starts: QEMU with options and values that are known to reach only its guest.

Takes a task; RefusedError names the first word that is not known to be harmless, and what to do. Nothing is
forbidden by name: what is not in the tables is refused, so a new option of QEMU is refused too. The words
reach no file of the worker but the task's inputs and the snapshot that the worker made for it, which are
read, and those of the run's folder; no network, no other device of the host, and no monitor but benchgate's
own. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchgate.base.cells import Lane
from benchgate.base.snapshots import CACHES, RAM, WORDS
from benchgate.base.system.qemu import CONSOLES, QMP_DESCRIPTOR, SERIAL, VIRTIO, guest_name
from benchgate.base.text import one_line
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.task import (
    APPEND,
    DISK,
    FIRMWARE,
    INITRD,
    KERNEL,
    PROGRAM,
    ROLES,
    SHA256,
    START,
    FolderFile,
    GuestFile,
    KeptFile,
    Part,
    StandIn,
    Task,
    Word,
    WorkerPath,
)

_QEMU, _DATA, _PLUGIN, _RUN = "\ue000", "\ue001", "\ue002", "\ue003"
_FILES = {KERNEL: "\ue004", INITRD: "\ue005", DISK: "\ue006", FIRMWARE: "\ue007", START: "\ue009"}
_FILES |= {PROGRAM: "\ue00d"}
_WORDS, _RAM, _CACHES = "\ue00a", "\ue00b", "\ue00c"
"""One character in the place of a part, by what it is; no text may have one of them."""
_ANY_MARK = re.compile("[\ue000-\uefff]")
_NAME = r"[A-Za-z0-9_.+-]+"
_DISK = (
    rf"id=disk[0-9]+,if=(?:none|ide,index=[0-9]+,media=(?:disk|cdrom)|sd,index=[0-9]+|floppy,index=[0-9]+),"
    rf"file={_FILES[DISK]},format=raw,snapshot=on"
)
_MACHINE_KEYS = (
    *("sata", "smbus", "usb", "vmport", "hpet", "graphics", "i8042", "acpi", "pit", "pic", "rtc"),
    *("isa-serial", "smm", "virtualization", "secure", "its", "ras", "highmem", "highmem-ecam"),
    *("gic-version", "aclint", "aia", "aia-guests", "pcie", "ioapic2", "mem-merge", "nvdimm", "hmat"),
    *("kernel-irqchip", "auto-kernel-cmdline", "mte", "x-option-roms"),
)
"""Properties of machines that name no file: not `dtb`, `dumpdtb`, `firmware`, `pflash0`, `memory-backend`.
Nor `accel`, which would take another accelerator than that of the task's lane."""
_DEVICES = (
    *("isa-debug-exit", "virtio-serial-pci", "virtio-serial-device", "virtconsole"),
    *("virtio-blk-pci", "virtio-blk-device", "virtio-scsi-pci", "scsi-hd", "nvme"),
    *("virtio-rng-pci", "virtio-rng-device", "virtio-net-pci", "virtio-net-device", "e1000", "rtl8139"),
    *("pvpanic", "pvpanic-pci", "pcie-root-port", "i6300esb"),
)
"""Devices that QEMU only emulates: none of the host's (vfio, vhost, usb-host), no `loader` of files."""
_LENGTHS = r"bytes=[0-9]{1,4}:[0-9](?::[0-9]{1,4}:[0-9]){0,99}"
_COUNTS = "seed|quantum|fine|rush|skip|serial|patience|lines|talk|disks"
_CAPACITIES = r"capacities=[0-9]{1,4}(?::[0-9]{1,4}){0,255}"
_PATHS = "out|machine|explore"
"""Options of the plugin. Each other one names a file, which it would make where the worker was started."""
_DEVICE_KEYS = (
    *("id", "drive", "bus", "addr", "iobase", "iosize", "serial", "chardev", "name", "netdev", "mac"),
    *("multifunction", "port", "chassis", "disable-legacy", "disable-modern", "num-queues", "queue-size"),
    *("logical_block_size", "physical_block_size", "nr", "max_ports"),
)


def _plugin(more: str = "") -> str:
    """The clock's plugin with its options, and with these."""
    text = rf"(?:{_COUNTS})=[0-9]{{1,20}}|(?:{_PATHS})={_RUN}|order=[a-z]+|{_LENGTHS}|{_CAPACITIES}{more}"
    return rf"{_PLUGIN}(?:,(?:{text}))*"


def _keyed(first: str, keys: tuple[str, ...], more: str = "") -> str:
    """A word that `key=value` follows."""
    return rf"(?:{first})(?:,(?:{'|'.join(map(re.escape, keys))})=[A-Za-z0-9_.:+-]*{more})*"


_VALUES: Mapping[str, str] = {
    "-L": _DATA,
    "-name": r"guest=benchgate-[A-Za-z0-9_.-]+,debug-threads=on",
    "-display": "none",
    "-machine": _keyed(rf"{_NAME}|(?:{'|'.join(_MACHINE_KEYS)})=[A-Za-z0-9_.-]+", _MACHINE_KEYS),
    "-cpu": rf"{_NAME}(?:,[+-]?{_NAME}(?:=[A-Za-z0-9_.+-]+)?)*",
    "-m": r"[0-9]{1,8}[KMG]?",
    "-smp": r"[0-9]+(?:,(?:cpus|sockets|dies|clusters|modules|cores|threads|maxcpus)=[0-9]+)*",
    "-chardev": rf"stdio,id=console,signal=off|socket,id=qmp,fd={QMP_DESCRIPTOR}",
    "-mon": "chardev=qmp,mode=control",
    "-serial": re.escape(CONSOLES[SERIAL][1]),
    "-device": "|".join(
        (
            *(re.escape(word) for word in CONSOLES[VIRTIO] if not word.startswith("-")),
            _keyed("|".join(map(re.escape, _DEVICES)), _DEVICE_KEYS, "|,romfile="),
        )
    ),
    "-global": r"apic\.vapic=off",
    "-kernel": _FILES[KERNEL],
    "-initrd": _FILES[INITRD],
    "-bios": rf"none|{_FILES[FIRMWARE]}",
    APPEND: r"[^\ue000-\uefff]*",
    "-drive": _DISK,
    "-plugin": _plugin(),
    "-object": r"main-loop,id=main-loop,thread-pool-min=1,thread-pool-max=1"
    r"|memory-backend-ram,id=node[0-9]+,size=[0-9]+",
    "-numa": r"(?:node|dist)(?:,(?:nodeid|memdev|cpus|src|dst|val)=[A-Za-z0-9-]+)*",
    "-netdev": r"user,id=net0,restrict=on",
    "-rtc": r"base=[0-9T:-]+,clock=vm",
    "-seed": r"[0-9]{1,20}",
}
"""What may stand behind an option."""
_OF_A_START: Mapping[str, str] = {
    "-incoming": "defer",
    "-initrd": _FILES[START],
    "-fw_cfg": r"name=opt/benchgate/"
    rf"(?:files,file=(?:{_FILES[INITRD]}|{_FILES[PROGRAM]})|words,file={_WORDS})",
    "-machine": f"memory-backend={RAM}",
    "-object": rf"memory-backend-file,id=(?:{RAM}|node[0-9]+),size=[0-9]+[KMG]?,mem-path={_RAM},"
    r"share=off,readonly=on,rom=off",
    "-plugin": _plugin(rf"|start=[0-9]{{1,20}}:[0-9]{{1,9}}|caches={_CACHES}"),
}
"""What also may, for a guest that starts at a snapshot. The worker made that itself, and nothing is written
to it."""
_TCG = r"tcg,thread=(?:multi|single)(?:,one-insn-per-tb=on)?"
_ACCELERATORS = {Lane.INSN: _TCG, Lane.TCG: _TCG, Lane.KVM: "kvm"}
"""The host's KVM is for tasks in wall time only, which a worker makes for the session that holds it."""
_FLAGS = ("-nodefaults", "-no-user-config", "-no-reboot", "-S", "-no-acpi", "-no-hpet")
_REQUIRED = ("-nodefaults", "-no-user-config", "-S", "-display", "-name")
_WHY: Mapping[str, str] = {
    "-drive": "a worker opens raw images only: another format may name further files of the worker; nor does "
    "it make snapshots of disks, so a guest with disks starts cold there",
    "-netdev": "a worker opens no port to a guest: run a system with `ports` here, without --fleet",
    "-semihosting-config": "semihosting gives the guest the worker's files: run this system here",
    "-semihosting": "semihosting gives the guest the worker's files: run this system here",
}
_HINT = (
    "the worker starts only options that reach no file, network or device of its machine "
    "(`benchgate docs fleet`)"
)


def why_not(task: Task) -> str:
    """Gives the reason why no worker starts it; empty if each whose operator allows its items does."""
    try:
        require(task)
    except RefusedError as error:
        return str(error)
    return ""


def require(task: Task) -> None:
    """RefusedError unless every word is known to be harmless."""
    roles = _roles(task)
    seen = set()
    words = iter(task.argv)
    if next(words, None) != (WorkerPath("qemu"),):
        why = "the first word of its argv is not the worker's QEMU"
        raise RefusedError(f"{why}; a worker starts nothing else")
    for word in words:
        option = _marked(word, roles)
        seen.add(option)
        if option not in _FLAGS:
            _require_value(option, next(words, None), _allowed(option, task), roles)
    if missing := [text for text in _REQUIRED if text not in seen]:
        raise RefusedError(f"its command line lacks {missing[0]}, which benchgate always gives to QEMU")
    if (f"guest={guest_name(task.nonce)},debug-threads=on",) not in task.argv:
        raise RefusedError("its -name has not the task's nonce, by which a lost guest is recognised")
    if ("-incoming" in seen) != (task.start is not None):
        raise RefusedError("either its command line or the task has a snapshot to start from, and not both")


def _allowed(option: str, task: Task) -> str | None:
    """The form of what may stand behind this option; None: nothing."""
    if option == "-accel":
        return _ACCELERATORS.get(task.lane)
    own = {} if task.start is None else _OF_A_START
    return "|".join(forms[option] for forms in (_VALUES, own) if option in forms) or None


def _require_value(option: str, value: Word | None, allowed: str | None, roles: Mapping[str, str]) -> None:
    why = _WHY.get(option, _HINT)
    if allowed is None or value is None:
        raise RefusedError(f"QEMU's option `{one_line(option)}` is refused: {why}")
    if not re.fullmatch(allowed, _marked(value, roles)):
        raise RefusedError(f"QEMU's option `{option} {_shown(value)}` is refused: {why}")


def _roles(task: Task) -> dict[str, str]:
    """The marks that a file of the task stands for: those of its roles."""
    result: dict[str, str] = {}
    for item in task.items:
        if item.role not in ROLES or not SHA256.fullmatch(item.sha256):
            raise RefusedError(f"{one_line(str(item))} is not an item of a task")
        result[item.sha256] = result.get(item.sha256, "") + _FILES.get(item.role, "")
    return result


def _marked(word: Word, roles: Mapping[str, str]) -> str:
    return "".join(_mark(part, roles) for part in word)


def _mark(part: Part, roles: Mapping[str, str]) -> str:
    match part:
        case str():
            if _ANY_MARK.search(part) or not (part.isprintable() or part == ""):
                raise RefusedError(f"a word of its argv has a character that none needs: {one_line(part)}")
            return part
        case WorkerPath(name):
            return {"qemu": _QEMU, "plugin": _PLUGIN}.get(name, _DATA)
        case FolderFile(name):
            return _WORDS if name == WORDS else _RUN
        case KeptFile(name):
            return _CACHES if name == CACHES else _RAM
        case StandIn(sha256):
            # A file with two roles, such as an empty one, is rare enough to be refused.
            return roles.get(sha256, "") or "\ue008"


def _shown(word: Word) -> str:
    """Shows the word in messages."""
    names = (part if isinstance(part, str) else f"<{_place(part)}>" for part in word)
    return one_line("".join(names), 200)


def _place(part: StandIn) -> str:
    return "input" if isinstance(part, GuestFile) else part.name
