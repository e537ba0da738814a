"""Finds which shared libraries a program needs, and which ones this system has.

Takes the path of a 64-bit little-endian ELF file, gives its DT_NEEDED names (System V ABI, chapter 5).
Fails with FetchError if the file is anything else.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

from benchgate.base.errors import FetchError

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NULL, _DT_NEEDED, _DT_STRTAB = 0, 1, 5


def needed(path: Path) -> frozenset[str]:
    """The sonames that the file requires; empty for a static program."""
    content = path.read_bytes()
    if content[:6] != b"\x7fELF\x02\x01":
        raise FetchError(f"{path} is not a 64-bit ELF file: fetch it again (`benchgate cache gc`)")
    try:
        return frozenset(_needed(content))
    except (struct.error, ValueError, OverflowError) as error:
        raise FetchError(
            f"{path} is a damaged ELF file ({error}): fetch it again (`benchgate cache gc`)"
        ) from error


def _needed(content: bytes) -> list[str]:
    at, size, count = *struct.unpack_from("<Q", content, 32), *struct.unpack_from("<HH", content, 54)
    # type, flags, offset, virtual address, physical address, size in the file, size in memory, alignment
    headers = [struct.unpack_from("<IIQQQQQQ", content, at + i * size) for i in range(count)]
    loads = [(head[3], head[5], head[2]) for head in headers if head[0] == _PT_LOAD]
    names: list[int] = []
    table: int | None = None
    for head in headers:
        if head[0] != _PT_DYNAMIC:
            continue
        for tag, value in struct.iter_unpack("<QQ", content[head[2] : head[2] + head[5] // 16 * 16]):
            if tag == _DT_NULL:
                break
            if tag == _DT_NEEDED:
                names.append(value)
            elif tag == _DT_STRTAB:
                table = _offset(loads, value)
    if names and table is None:
        raise ValueError("DT_NEEDED without a string table")
    return [_text(content, (table or 0) + name) for name in names]


def _offset(loads: list[tuple[int, int, int]], address: int) -> int:
    for start, length, offset in loads:
        if 0 <= address - start < length:
            return address - start + offset
    raise ValueError(f"no part of the file is loaded at {address:#x}")


def _text(content: bytes, at: int) -> str:
    return content[at : content.index(b"\0", at)].decode("ascii")


def present() -> frozenset[str]:
    """The sonames that this system's loader finds."""
    program = shutil.which("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if program is None:
        return frozenset()
    try:
        done = subprocess.run(
            [program, "-p"], capture_output=True, text=True, errors="replace", timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()  # then more libraries are fetched than needed, which is harmless
    return parse_present(done.stdout)


def parse_present(text: str) -> frozenset[str]:
    """Parses `ldconfig -p`, which has lines such as `libz.so.1 (libc6,x86-64) => /lib/...`."""
    lines = (line.split() for line in text.splitlines() if "x86-64" in line)
    return frozenset(words[0] for words in lines if len(words) > 1)
