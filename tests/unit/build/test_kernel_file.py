"""A kernel file is what its headers say, and one that QEMU cannot load comes with what to do."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.errors import UsageError
from benchgate.build.kernel_file import KernelFile, Media, look

I386, X86_64, ARM64, RISCV, MIPS = 3, 62, 183, 243, 8
MULTIBOOT = struct.pack("<III", 0x1BADB002, 0, -0x1BADB002 & 0xFFFFFFFF)
FLAT = struct.pack("<III", 0x1BADB002, 1 << 16, -(0x1BADB002 + (1 << 16)) & 0xFFFFFFFF)
PVH = struct.pack("<III4sI", 4, 4, 18, b"Xen\0", 0x100000)


def elf(machine: int, bits: int = 64, *, entry: int = 0, note: bytes = b"", body: bytes = b"") -> bytes:
    """An ELF file with one program header."""
    wide = bits == 64
    size, head_size = (64, 56) if wide else (52, 32)
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1, 1]) + bytes(9)
    layout = "<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH"
    head = struct.pack(layout, 2, machine, 1, entry, size, 0, 0, size, head_size, 1, 0, 0, 0)
    at, length = size + head_size, len(note)
    kind = 4 if note else 1
    if wide:
        segment = struct.pack("<IIQQQQQQ", kind, 4, at, 0, 0, length, length, 4)
    else:
        segment = struct.pack("<IIIIIIII", kind, at, 0, 0, length, length, 4, 4)
    return ident + head + segment + note + body


def seen(tmp_path: Path, content: bytes) -> KernelFile:
    path = tmp_path / "kernel"
    path.write_bytes(content)
    return look(path)


def with_bytes(at: int, text: bytes) -> bytes:
    return bytes(at) + text + bytes(64)


@pytest.mark.parametrize(
    ("content", "arch", "media"),
    [
        (elf(I386, 32, body=MULTIBOOT), "x86_64", Media.KERNEL),
        (elf(I386, 32), "x86_64", Media.NONE),
        (elf(X86_64, note=PVH), "x86_64", Media.KERNEL),
        (elf(I386, 32, note=PVH), "x86_64", Media.KERNEL),
        (elf(X86_64, body=MULTIBOOT), "x86_64", Media.NONE),
        (elf(X86_64, body=FLAT), "x86_64", Media.KERNEL),
        (elf(X86_64, body=struct.pack("<I", 0xE85250D6)), "x86_64", Media.NONE),
        (elf(RISCV), "riscv64", Media.KERNEL),
        (elf(RISCV, 32), "", Media.NONE),
        (elf(ARM64), "aarch64", Media.KERNEL),
        (elf(MIPS, 32), "", Media.NONE),
        (with_bytes(0x202, b"HdrS"), "x86_64", Media.KERNEL),
        (with_bytes(0x38, b"ARM\x64"), "aarch64", Media.KERNEL),
        (with_bytes(0x38, b"RSC\x05"), "riscv64", Media.KERNEL),
        (with_bytes(510, b"\x55\xaa"), "x86_64", Media.DISK),
        (with_bytes(0x8001, b"CD001"), "x86_64", Media.DISK),
        (b"QFI\xfb" + bytes(100), "", Media.DISK),
        (b"\x1f\x8b" + bytes(100), "", Media.NONE),
        (b"\x7fELF" + bytes(3), "", Media.NONE),
        (b"code", "", Media.KERNEL),
    ],
)
def test_the_headers_decide(tmp_path: Path, content: bytes, arch: str, media: Media) -> None:
    file = seen(tmp_path, content)
    assert (file.arch, file.media) == (arch, media)
    assert bool(file.advice) == (media is Media.NONE)


def bz_image(version: int, payload: int) -> bytes:
    """The header of Linux's boot protocol: at 0x206 its version, at 0x24c the payload's length."""
    head = bytearray(0x300)
    head[0x202:0x208] = b"HdrS" + struct.pack("<H", version)
    head[0x24C:0x250] = struct.pack("<I", payload)
    return bytes(head)


IMAGE = with_bytes(0x38, b"RSC\x05")


@pytest.mark.parametrize(
    ("content", "is_linux"),
    [
        (bz_image(0x20F, 8_000_000), True),
        (bz_image(0x20C, 0), False),  # memtest86+
        (bz_image(0x207, 774_909_489), False),  # iPXE: before that version other bytes are there
        (with_bytes(0x202, b"HdrS"), False),
        (IMAGE + b"\0Linux version 6.12.1 (", True),
        (IMAGE + b"U-Boot 2023.01", False),
    ],
)
def test_an_image_in_linuxs_format_need_not_be_linux(tmp_path: Path, content: bytes, is_linux: bool) -> None:
    file = seen(tmp_path, content)
    assert (file.is_linux, file.media) == (is_linux, Media.KERNEL)
    assert file.about.startswith("a Linux " if is_linux else "a kernel in the format of a Linux ")


def test_only_a_file_of_no_known_format_is_raw(tmp_path: Path) -> None:
    assert seen(tmp_path, b"code").is_raw
    assert not seen(tmp_path, IMAGE).is_raw


def test_a_64_bit_multiboot_kernel_comes_with_the_command_that_helps(tmp_path: Path) -> None:
    assert "objcopy -O elf32-i386" in seen(tmp_path, elf(X86_64, body=MULTIBOOT)).advice


def test_a_multiboot_header_with_a_wrong_checksum_is_none(tmp_path: Path) -> None:
    assert seen(tmp_path, elf(I386, 32, body=MULTIBOOT[:-1] + b"\0")).media is Media.NONE


@pytest.mark.parametrize(("entry", "replaces"), [(0x80000000, True), (0x80200000, False)])
def test_a_riscv_kernel_may_take_the_firmwares_place(tmp_path: Path, entry: int, replaces: bool) -> None:
    assert seen(tmp_path, elf(RISCV, entry=entry)).replaces_firmware is replaces


@pytest.mark.parametrize("content", [None, b""])
def test_no_file_and_an_empty_one_are_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "kernel"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"cannot be read|is empty"):
        look(path)


@given(at=st.integers(0, 150), change=st.binary(min_size=1, max_size=40), cut=st.integers(1, 200))
def test_damage_raises_nothing(
    tmp_path_factory: pytest.TempPathFactory, at: int, change: bytes, cut: int
) -> None:
    whole = elf(X86_64, note=PVH, body=MULTIBOOT)
    damaged = (whole[:at] + change + whole[at + len(change) :])[:cut]
    assert isinstance(seen(tmp_path_factory.mktemp("damaged"), damaged), KernelFile)
