"""What an ELF64 of this host's byte order loads, and where its symbols are. Takes a file; fails with
ValueError."""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_LOAD = 1


@dataclass(frozen=True, slots=True)
class Image:
    segments: Mapping[int, bytes]
    """What is loaded, by address."""
    symbols: Mapping[str, int]
    """Addresses by name; of equal names in several files, each has its place in the order of addresses."""

    @staticmethod
    def read(path: Path) -> Image:
        return Image(_segments(path.read_bytes()), _symbols(path))

    def word(self, address: int) -> int:
        """The 64 bits at this address."""
        begin, data = next(
            (begin, data) for begin, data in self.segments.items() if begin <= address < begin + len(data)
        )
        value: int = struct.unpack_from("<Q", data, address - begin)[0]
        return value


def _segments(data: bytes) -> dict[int, bytes]:
    (table,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    found = {}
    for place in range(table, table + 56 * count, 56):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, place)
        if kind == _LOAD:
            found[address] = data[offset : offset + size]
    return found


def _symbols(path: Path) -> dict[str, int]:
    lines = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout.splitlines()
    found: dict[str, int] = {}
    copies: Counter[str] = Counter()
    for line in sorted(lines):
        address, _, name = line.split(maxsplit=2)
        copies[name] += 1
        found[f"{name} {copies[name]}" if copies[name] > 1 else name] = int(address, 16)
    return found
