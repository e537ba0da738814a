"""The kernel in a bzImage: unpacked to the same bytes, kept; left packed if QEMU could not start it."""

from __future__ import annotations

import gzip
import lzma
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchgate.base.errors import FetchError
from benchgate.build.fetch import unpack
from tests import optional

KERNEL = b"\x7fELF" + b"the kernel's own bytes, " * 5000


def bz_image(folder: Path, packed: bytes, size: int = len(KERNEL)) -> Path:
    """An image whose payload begins 64 bytes after three sectors of set-up code. In a gzip file the size is
    part of the format; after the others the kernel's build adds it."""
    payload = packed if packed.startswith(b"\x1f\x8b") else packed + size.to_bytes(4, "little")
    head = bytearray(3 * 512 + 64)
    head[0x1F1] = 2
    head[0x248:0x250] = (64).to_bytes(4, "little") + len(payload).to_bytes(4, "little")
    image = folder / "vmlinuz"
    image.write_bytes(bytes(head) + payload + b"what follows the payload")
    return image


def config(folder: Path, text: str = "CONFIG_SMP=y\nCONFIG_PVH=y\n") -> Path:
    (folder / "config").write_text(text)
    return folder / "config"


def zstd(content: bytes) -> bytes:
    return subprocess.run(
        (optional.path("zstd"), "-q"), input=content, capture_output=True, check=True
    ).stdout


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd], ids=["gzip", "xz", "zstd"])
def test_the_kernel_is_unpacked(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = unpack.unpacked_kernel(bz_image(tmp_path, pack(KERNEL)), config(tmp_path))
    assert path is not None
    assert path.read_bytes() == KERNEL


def test_it_is_unpacked_once_for_each_image(tmp_path: Path) -> None:
    image, settings = bz_image(tmp_path, gzip.compress(KERNEL)), config(tmp_path)
    first = unpack.unpacked_kernel(image, settings)
    assert unpack.unpacked_kernel(image, settings) == first
    assert unpack.unpacked_kernel(bz_image(tmp_path, gzip.compress(KERNEL + b"new")), settings) != first


@pytest.mark.parametrize("text", ["CONFIG_SMP=y\n", "# CONFIG_PVH is not set\n", "XCONFIG_PVH=y\n"])
def test_a_kernel_without_a_pvh_entry_stays_packed(tmp_path: Path, text: str) -> None:
    assert unpack.unpacked_kernel(bz_image(tmp_path, gzip.compress(KERNEL)), config(tmp_path, text)) is None


def test_an_unknown_compression_or_no_config_leaves_it_packed(tmp_path: Path) -> None:
    assert unpack.unpacked_kernel(bz_image(tmp_path, b"\x02\x21\x4c\x18 lz4"), config(tmp_path)) is None
    assert unpack.unpacked_kernel(bz_image(tmp_path, gzip.compress(KERNEL)), tmp_path / "none") is None


@pytest.mark.parametrize(
    ("packed", "size", "why"),
    [
        (lzma.compress(KERNEL), 7, f"it unpacks to {len(KERNEL)} bytes, its header says 7"),
        (lzma.compress(KERNEL)[:-40], len(KERNEL), "is damaged|cannot be unpacked"),
        (lzma.compress(b"no ELF"), 6, "is damaged"),
        (b"\xfd7zXZ no stream", 1, "cannot be unpacked"),
        (b"\x28\xb5\x2f\xfd no stream", 1, "cannot be unpacked"),
    ],
    ids=["size", "cut", "text", "xz", "zstd"],
)
def test_a_damaged_image_is_refused(tmp_path: Path, packed: bytes, size: int, why: str) -> None:
    with pytest.raises(FetchError, match=why):
        unpack.unpacked_kernel(bz_image(tmp_path, packed, size), config(tmp_path))


def lz4(*blocks: bytes) -> bytes:
    """LZ4's legacy format."""
    return b"\x02\x21\x4c\x18" + b"".join(len(block).to_bytes(4, "little") + block for block in blocks)


def test_what_is_inside_can_be_read_even_if_it_boots_packed(tmp_path: Path) -> None:
    """Blocks by hand: literals, a copy of what was written, and one that copies what it is writing itself."""
    first = b"\x42\x7fELF\x02\x00" + b"\x1fF\x01\x00\x05" + b"\x10z"
    second = b"\x30abc"
    expected = b"\x7fELF" + b"LFLFLF" + b"F" + b"F" * 24 + b"z" + b"abc"
    image = bz_image(tmp_path, lz4(first, second), len(expected))
    image.write_bytes(header(image.read_bytes()))
    assert unpack.kernel_content(image) == expected
    assert unpack.unpacked_kernel(image, config(tmp_path)) is None
    other = tmp_path / "Image"
    other.write_bytes(b"any other file")
    assert unpack.kernel_content(other) == b"any other file"


@pytest.mark.parametrize(
    "block",
    [b"\x42\x7fELF\x09\x00\x10z", b"\x42\x7fELF\x00\x00", b"\xf0", b"\x1fF\x01\x00" + b"\xff" * 40000],
)
def test_a_damaged_block_is_refused(tmp_path: Path, block: bytes) -> None:
    image = bz_image(tmp_path, lz4(block), 10)
    image.write_bytes(header(image.read_bytes()))
    with pytest.raises(FetchError, match=r"unpacked|damaged"):
        unpack.kernel_content(image)


def header(image: bytes) -> bytes:
    return image[:0x202] + b"HdrS" + image[0x206:]
