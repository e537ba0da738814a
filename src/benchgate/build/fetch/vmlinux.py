"""Unpacks the ELF file inside a bzImage once on the host, and keeps it in the cache.

A bzImage decompresses itself in every boot, which is half of the instructions before PID 1. QEMU can start
the ELF file instead, at its PVH entry. Takes a bzImage and its config file; gives the ELF file, or None if
QEMU could not start it or if its compression is unknown here: then the bzImage boots as it is. Fails with
FetchError if the image is damaged.
"""

from __future__ import annotations

import lzma
import subprocess
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from benchgate.base.errors import FetchError
from benchgate.base.files import file_digest
from benchgate.build import cache
from benchgate.build.fetch.unpack import zstd

PVH = "CONFIG_PVH=y"
_SECTOR = 512
_SIZE_BYTES = 4
"""The payload ends with the unpacked size, which has so many bytes."""


def unpacked(image: Path, config: Path) -> Path | None:
    if not config.is_file() or PVH not in config.read_text(errors="replace").splitlines():
        return None
    payload = _payload(image.read_bytes())
    unpack = next((found for magic, found in _UNPACK.items() if payload.startswith(magic)), None)
    if unpack is None:
        return None

    def make(files: Path) -> None:
        (files / "vmlinux").write_bytes(_checked(image, payload, unpack))

    return cache.entry("vmlinux", {"format": "1", "image": file_digest(image)}, make) / "vmlinux"


def _checked(image: Path, payload: bytes, unpack: Callable[[bytes], bytes]) -> bytes:
    try:
        content = unpack(payload)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, subprocess.SubprocessError) as error:
        raise FetchError(f"the kernel in {image} cannot be unpacked: {error}") from error
    size = int.from_bytes(payload[-_SIZE_BYTES:], "little")
    if len(content) != size or not content.startswith(b"\x7fELF"):
        raise FetchError(
            f"the kernel in {image} is damaged: it unpacks to {len(content)} bytes, its header says {size}; "
            "give another one with --linux-kernel PATH"
        )
    return content


def _payload(image: bytes) -> bytes:
    """The compressed kernel (the kernel's Documentation/arch/x86/boot.rst, payload_offset)."""
    setup = (image[0x1F1] or 4) + 1
    offset, length = (int.from_bytes(image[at : at + 4], "little") for at in (0x248, 0x24C))
    begin = setup * _SECTOR + offset
    return image[begin : begin + length]


def _gzip(payload: bytes) -> bytes:
    return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(payload)


def _xz(payload: bytes) -> bytes:
    return lzma.LZMADecompressor().decompress(payload)


def _zstd(payload: bytes) -> bytes:
    return zstd(payload[:-_SIZE_BYTES])


_UNPACK: Mapping[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": _gzip,
    b"\xfd7zXZ": _xz,
    b"\x28\xb5\x2f\xfd": _zstd,
}
