"""Unpacks what is fetched: chosen files of a .deb without running its scripts, zstd data, and the ELF file
inside a bzImage.

Takes a package's path and a function that maps a member's path to its place; writes below one folder, and
fails with FetchError if the package cannot be read. `zstd` takes and gives bytes, and fails with an error of
subprocess.

A bzImage decompresses itself in every boot, which is half of the instructions before PID 1. QEMU can start
the ELF file inside it instead, at its PVH entry. `unpacked_kernel` takes a bzImage and its config file; gives
the ELF file, which the cache keeps, or None if QEMU could not start it or if its compression is unknown here:
then the bzImage boots as it is. Fails with FetchError if the image is damaged.
"""

from __future__ import annotations

import io
import lzma
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO

from benchgate.base.errors import FetchError
from benchgate.base.files import file_digest
from benchgate.build import cache
from benchgate.build.cache_storage import full_disk
from benchgate.build.toolchain import environment

Choose = Callable[[str], str | None]
"""This maps `usr/share/qemu/pvh.bin` to `share/pvh.bin`, for example, or to None to skip a file."""
_UNPACK_S = 300.0
PVH = "CONFIG_PVH=y"
_SECTOR = 512
_SIZE_BYTES = 4
"""The payload ends with the unpacked size, which has so many bytes."""


def unpack(package: Path, folder: Path, choose: Choose) -> None:
    argv = ("dpkg-deb", "--fsys-tarfile", str(package))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        try:
            assert process.stdout is not None
            _unpack(process.stdout, folder, choose)
            process.communicate(timeout=_UNPACK_S)
        except (tarfile.TarError, EOFError, subprocess.TimeoutExpired) as error:
            raise FetchError(f"{package.name} cannot be unpacked: {error}") from error
        finally:
            process.kill()
    if process.returncode:
        if full := full_disk(folder, ""):
            raise FetchError(f"{package.name} cannot be unpacked: {full}")
        status = f"status {process.returncode}"
        raise FetchError(f"{package.name} cannot be unpacked: dpkg-deb ended with {status}")


def _unpack(stream: IO[bytes], folder: Path, choose: Choose) -> None:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            place = choose(member.name.removeprefix("./"))
            if place is None or not (member.isreg() or member.issym()):
                continue
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                target.write_bytes(content.read())
                target.chmod(0o755 if member.mode & 0o100 else 0o644)
            elif (name := Path(member.linkname).name) != target.name and not target.exists():
                target.symlink_to(name)  # all files of one kind are in one folder
    while stream.read(65_536):  # read the padding, or dpkg-deb gets a broken pipe
        pass


def zstd(packed: bytes) -> bytes:
    """Decompresses zstd data. Python before 3.14 has no zstd, so dpkg-deb does it: it reads the bytes as the
    data of a package that has nothing else."""
    empty = io.BytesIO()
    tarfile.open(fileobj=empty, mode="w").close()
    members = {"debian-binary": b"2.0\n", "control.tar": empty.getvalue(), "data.tar.zst": packed}
    with cache.scratch("inspect") as folder:
        package = folder / "packed.deb"
        package.write_bytes(_archive(members))
        argv = ("dpkg-deb", "--fsys-tarfile", str(package))
        done = subprocess.run(argv, capture_output=True, check=True, timeout=_UNPACK_S, env=environment())
    return done.stdout


def _archive(members: Mapping[str, bytes]) -> bytes:
    """A Unix `ar` archive."""
    parts = [b"!<arch>\n"]
    for name, content in members.items():
        parts += [f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode(), content]
        parts += [b"\n"] if len(content) % 2 else []
    return b"".join(parts)


def unpacked_kernel(image: Path, config: Path) -> Path | None:
    if not config.is_file() or PVH not in config.read_text(errors="replace").splitlines():
        return None
    payload = _kernel_payload(image.read_bytes())
    unpack = _kernel_unpacker(payload)
    if unpack is None:
        return None

    key = {"format": "1", "image": file_digest(image)}
    return cache.file_of("vmlinux", key, "vmlinux", partial(_checked_kernel, image, payload, unpack))


def kernel_content(image: Path) -> bytes:
    """What a bzImage unpacks to, whether or not QEMU could start it; any other file as it is."""
    whole = image.read_bytes()
    payload = _kernel_payload(whole) if whole[0x202:0x206] == b"HdrS" else b""
    unpack = _kernel_lz4 if payload.startswith(_LZ4) else _kernel_unpacker(payload)
    return whole if unpack is None else _checked_kernel(image, payload, unpack)


def _kernel_unpacker(payload: bytes) -> Callable[[bytes], bytes] | None:
    return next((value for magic, value in _KERNEL_UNPACKERS.items() if payload.startswith(magic)), None)


def _checked_kernel(image: Path, payload: bytes, unpack: Callable[[bytes], bytes]) -> bytes:
    try:
        content = unpack(payload)
    except (OSError, EOFError, IndexError, zlib.error, lzma.LZMAError, subprocess.SubprocessError) as error:
        raise FetchError(f"the kernel in {image} cannot be unpacked: {error}") from error
    size = int.from_bytes(payload[-_SIZE_BYTES:], "little")
    if len(content) != size or not content.startswith(b"\x7fELF"):
        raise FetchError(
            f"the kernel in {image} is damaged: it unpacks to {len(content)} bytes, its header says {size}; "
            "give another one with --linux-kernel PATH"
        )
    return content


def _kernel_payload(image: bytes) -> bytes:
    """The compressed kernel (the kernel's Documentation/arch/x86/boot.rst, payload_offset)."""
    setup = (image[0x1F1] or 4) + 1
    offset, length = (int.from_bytes(image[at : at + 4], "little") for at in (0x248, 0x24C))
    begin = setup * _SECTOR + offset
    return image[begin : begin + length]


_LZ4 = b"\x02\x21\x4c\x18"
"""The magic number of LZ4's legacy format, in which Linux is packed: blocks, each after its length. Such
an image is unpacked for its types only: it boots as it always did, so its digits stay."""
_LZ4_MOST = 8 << 20
"""The most bytes of an unpacked block."""


def _kernel_lz4(payload: bytes) -> bytes:
    out, at, end = bytearray(), len(_LZ4), len(payload) - _SIZE_BYTES
    while at < end:
        size = int.from_bytes(payload[at : at + 4], "little")
        _lz4_block(payload, at + 4, at + 4 + size, out)
        at += 4 + size
    return bytes(out)


def _lz4_block(source: bytes, at: int, end: int, out: bytearray) -> None:
    """LZ4's block format: literals and copies of what is there already. IndexError: it is damaged."""
    begin = len(out)
    while at < end:
        token = source[at]
        literals, at = _lz4_length(source, at + 1, token >> 4)
        out += source[at : at + literals]
        at += literals
        if at >= end:
            return
        back = source[at] | source[at + 1] << 8
        length, at = _lz4_length(source, at + 2, token & 15)
        length += 4
        start = len(out) - back
        if back == 0 or start < begin or length > _LZ4_MOST:
            raise IndexError("a copy from before the block, or one that is longer than a block")
        if back >= length:
            out += out[start : start + length]
        else:  # it copies what it writes
            piece = bytes(out[start:])
            out += (piece * (length // back + 1))[:length]


def _lz4_length(source: bytes, at: int, length: int) -> tuple[int, int]:
    """A length of 15 goes on in bytes, of which each of 255 has another one behind it."""
    if length == 15:
        while (more := source[at]) == 255:
            length, at = length + 255, at + 1
        length, at = length + more, at + 1
    return length, at


_KERNEL_UNPACKERS: Mapping[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": lambda payload: zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(payload),
    b"\xfd7zXZ": lambda payload: lzma.LZMADecompressor().decompress(payload),
    b"\x28\xb5\x2f\xfd": lambda payload: zstd(payload[:-_SIZE_BYTES]),
}
