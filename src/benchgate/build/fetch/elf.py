"""Finds which shared libraries a program needs, and which ones this system has.

Takes the path of a 64-bit little-endian ELF file, gives its DT_NEEDED names (System V ABI, chapter 5).
Fails with FetchError if the file is anything else.
"""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.construct.core import ConstructError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from benchgate.base.errors import BootError, FetchError
from benchgate.base.process import capture

DAMAGE = (
    *(ELFError, ConstructError, struct.error, AssertionError),
    *(AttributeError, LookupError, OverflowError, TypeError, ValueError),
)
"""The exceptions that pyelftools, and a loop over its results, raise on a damaged file."""


def needed(path: Path) -> frozenset[str]:
    """The sonames that the file requires; empty for a static program."""
    content = path.read_bytes()
    if content[:6] != b"\x7fELF\x02\x01":
        raise FetchError(f"{path} is not a 64-bit ELF file: fetch it again (`benchgate cache gc`)")
    try:
        segments = ELFFile(io.BytesIO(content)).iter_segments()
        dynamic = [segment for segment in segments if isinstance(segment, DynamicSegment)]
        return frozenset(vars(tag)["needed"] for segment in dynamic for tag in segment.iter_tags("DT_NEEDED"))
    except DAMAGE as error:
        advice = "fetch it again (`benchgate cache gc`)"
        raise FetchError(f"{path} is a damaged ELF file ({error}): {advice}") from error


@cache
def present() -> frozenset[str]:
    """The sonames that this system's loader finds, as of the first call."""
    program = shutil.which("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if program is None:
        return frozenset()
    try:
        return parse_present(capture([program, "-p"], 30, dict(os.environ)).stdout)
    except (BootError, OSError, subprocess.TimeoutExpired):
        return frozenset()  # then more libraries are fetched than needed, which is harmless


def parse_present(text: str) -> frozenset[str]:
    """Parses `ldconfig -p`, which has lines such as `libz.so.1 (libc6,x86-64) => /lib/...`."""
    lines = (line.split() for line in text.splitlines() if "x86-64" in line)
    return frozenset(words[0] for words in lines if len(words) > 1)
