"""Finds the format and architecture of a kernel file, and whether QEMU can load it as it is.

Takes a path; gives a `KernelFile`. Reads the file's headers only and believes none of them: a damaged file is
one of an unknown format. Fails with UsageError if the file cannot be read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from pathlib import Path

from elftools.elf.elffile import ELFFile

from benchgate.base.errors import UsageError
from benchgate.base.files import read_start
from benchgate.build.fetch.elf import DAMAGE

_HEAD_BYTES = 64 << 20
_X86 = "x86_64"
_ELF_ARCHITECTURES = {("EM_386", 32): _X86, ("EM_X86_64", 64): _X86}
_ELF_ARCHITECTURES |= {("EM_RISCV", 64): "riscv64", ("EM_AARCH64", 64): "aarch64"}
_XEN_PHYS32_ENTRY = 18
"""The ELF note with the PVH entry point of a kernel (Xen's public/elfnote.h)."""
_RAM_START = {"riscv64": 0x80000000}
"""The address at which the machine `virt` starts its firmware; a kernel linked there replaces it."""


class Media(StrEnum):
    """The way in which QEMU gets the file."""

    KERNEL = "kernel"
    DISK = "disk"
    FIRMWARE = "firmware"
    NONE = "none"  # QEMU cannot load it


@dataclass(frozen=True, slots=True)
class KernelFile:
    path: Path
    about: str
    """A description in a few words."""
    arch: str = ""
    """The architecture; empty if the file does not tell."""
    media: Media = Media.KERNEL
    is_linux: bool = False
    """Whether it is Linux; other kernels may have images in Linux's formats."""
    is_raw: bool = False
    """Whether it has no known format, so that QEMU starts it as code: as a kernel or as firmware."""
    replaces_firmware: bool = False
    """Whether it starts at the address of the machine's firmware."""
    format: str = "raw"
    """The format of a disk image."""
    advice: str = ""
    """What to do if QEMU cannot load it."""


def look(path: Path) -> KernelFile:
    """Examines the file's headers."""
    try:
        head = read_start(path, _HEAD_BYTES, follow=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not head:
        raise UsageError(f"{path}: is empty; build the kernel first")
    file = next((file for known in _FORMATS if (file := known(path, head))), None)
    return file or KernelFile(path, "a file of no known format, which QEMU starts as raw code", is_raw=True)


def system_name(kernel: Path) -> str:
    """The name of a system with this kernel. `kernel` says nothing: then the folder's name is better."""
    own = kernel.absolute()
    stem = own.parent.name if own.stem.lower() in {"kernel", "vmlinuz", "image", "vmlinux"} else own.stem
    return re.sub(r"[^a-z0-9]+", "_", stem.lower()).lstrip("_0123456789").rstrip("_")[:32] or "mine"


def _elf(path: Path, head: bytes) -> KernelFile | None:
    if not head.startswith(b"\x7fELF"):
        return None
    try:
        file = ELFFile(BytesIO(head))
        machine, bits, entry = file["e_machine"], file.elfclass, file["e_entry"]
        entries = frozenset(_entries(file, head)) if machine in {"EM_386", "EM_X86_64"} else frozenset()
    except DAMAGE as error:
        advice = "build it again, or strip it with the tools of its architecture"
        return KernelFile(path, f"a damaged ELF file ({error})", media=Media.NONE, advice=advice)
    arch = _ELF_ARCHITECTURES.get((str(machine), bits), "")
    about = f"a {bits}-bit ELF file for {str(machine).removeprefix('EM_').lower()}"
    if not arch:
        advice = "benchgate measures 64-bit x86, RISC-V and Arm, and 32-bit x86"
        return KernelFile(path, about, media=Media.NONE, advice=advice)
    if arch == _X86:
        return _x86_elf(path, about, bits, entries)
    return KernelFile(path, about, arch, replaces_firmware=_RAM_START.get(arch) == entry)


def _x86_elf(path: Path, about: str, bits: int, entries: frozenset[str]) -> KernelFile:
    with_entries = f"{about}, {' and '.join(sorted(entries)) or 'without a multiboot header or a PVH note'}"
    if "PVH" in entries or ("multiboot" in entries and bits == 32) or "multiboot (flat)" in entries:
        return KernelFile(path, with_entries, _X86)
    advice = (
        "QEMU cannot load it as a kernel. Give the disk image with its boot loader in place of it "
        "(a CD image by grub-mkrescue for multiboot2 or Limine), or add a PVH note to the kernel"
    )
    if "multiboot" in entries:
        command = "`objcopy -O elf32-i386 KERNEL KERNEL32`"
        advice = f"QEMU loads multiboot kernels in 32-bit ELF files only: {command}"
    return KernelFile(path, with_entries, _X86, Media.NONE, advice=advice)


def _entries(file: ELFFile, head: bytes) -> Iterator[str]:
    """The ways to start an x86 kernel that the file has."""
    flags = _multiboot_flags(head)
    if flags is not None:
        yield "multiboot (flat)" if flags & 1 << 16 else "multiboot"
    if _has_aligned(head[: 32 << 10], 0xE85250D6, 8):
        yield "multiboot2"
    for segment in file.iter_segments("PT_NOTE"):
        for note in segment.iter_notes():  # type: ignore[attr-defined] # a NoteSegment
            if note["n_name"] == "Xen" and note["n_type"] in {_XEN_PHYS32_ENTRY, "NT_GNU_PHYS32_ENTRY"}:
                yield "PVH"


def _multiboot_flags(head: bytes) -> int | None:
    """The flags of its multiboot header, which is in the first 8 KiB."""
    start = head[: 8 << 10]
    for at in range(0, len(start) - 11, 4):
        magic, flags, checksum = struct.unpack_from("<III", start, at)
        if magic == 0x1BADB002 and (magic + flags + checksum) & 0xFFFFFFFF == 0:
            return int(flags)
    return None


def _has_aligned(text: bytes, magic: int, step: int) -> bool:
    return any(text[at : at + 4] == magic.to_bytes(4, "little") for at in range(0, len(text) - 3, step))


def _linux(path: Path, head: bytes) -> KernelFile | None:
    """Recognizes an image in one of Linux's formats. Other programs use them too, so that boot loaders can
    start them: memtest86+ and iPXE on x86, Xen and U-Boot on Arm."""
    if head[0x202:0x206] == b"HdrS":
        return _image(path, "bzImage for x86", _X86, is_linux=_has_packed_kernel(head))
    arch, processor = _IMAGES.get(head[0x38:0x3C], ("", ""))
    if arch:
        return _image(path, f"Image for {processor}", arch, is_linux=b"Linux version " in head)
    return None


_IMAGES = {b"ARM\x64": ("aarch64", "Arm"), b"RSC\x05": ("riscv64", "RISC-V")}


def _image(path: Path, about: str, arch: str, *, is_linux: bool) -> KernelFile:
    whose = f"a Linux {about}" if is_linux else f"a kernel in the format of a Linux {about}"
    return KernelFile(path, whose, arch, is_linux=is_linux)


def _has_packed_kernel(head: bytes) -> bool:
    """Whether the header has a `payload_length` other than 0. Linux (since 2.6.26) has one for its packed
    kernel; kernels that Linux's build has not packed have none."""
    if len(head) < _PAYLOAD_LENGTH + 4:
        return False
    (version,) = struct.unpack_from("<H", head, 0x206)
    (length,) = struct.unpack_from("<I", head, _PAYLOAD_LENGTH)
    return bool(version >= _PAYLOAD_VERSION and length)


_PAYLOAD_LENGTH, _PAYLOAD_VERSION = 0x24C, 0x208
"""The offset of `payload_length` and the first version with it (Linux's Documentation/arch/x86/boot.rst)."""


def _packed(path: Path, head: bytes) -> KernelFile | None:
    magics = {b"\x1f\x8b": "gunzip", b"\xfd7zXZ": "unxz", b"BZh": "bunzip2", b"\x28\xb5\x2f\xfd": "unzstd"}
    for magic, tool in magics.items():
        if head.startswith(magic):
            advice = f"unpack it first: `{tool} < {path.name} > kernel`"
            return KernelFile(path, "a compressed file", media=Media.NONE, advice=advice)
    if head.startswith(b"\x27\x05\x19\x56"):
        advice = "give the kernel that it was made of"
        return KernelFile(path, "a U-Boot image", media=Media.NONE, advice=advice)
    return None


def _disk(path: Path, head: bytes) -> KernelFile | None:
    if head.startswith(b"QFI\xfb"):
        return KernelFile(path, "a qcow2 disk image", media=Media.DISK, format="qcow2")
    if head[0x8001:0x8006] == b"CD001":
        return KernelFile(path, "a CD image", _X86, Media.DISK, format="cdrom")
    if head[510:512] == b"\x55\xaa":
        return KernelFile(path, "a disk image with a PC boot sector", _X86, Media.DISK)
    return None


_FORMATS: tuple[Callable[[Path, bytes], KernelFile | None], ...] = (_elf, _linux, _packed, _disk)
