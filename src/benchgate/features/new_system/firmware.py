"""Whether a guest stays in its firmware: a loop there, or an exception that it takes again and again.

Takes QEMU's monitor and command line; gives the file of the firmware, or an empty text. Where QEMU says
nothing of its registers or its ROMs, nothing is known. Does not fail.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from benchgate.run.qmp import Qmp, QmpError

_LOOKS, _APART_S = 20, 0.02
_COUNTER = re.compile(r"(?:^|\s)(?:RIP|EIP|PC|pc)\s*=?\s*([0-9a-fA-F]+)")
_SEGMENT = re.compile(r"^CS\s*=\s*[0-9a-f]+\s+([0-9a-f]+)", re.MULTILINE)
_ROM = re.compile(r'^addr=([0-9a-f]+) size=0x([0-9a-f]+) mem=\S+ name="(.*)"$', re.MULTILINE)
_BELOW_1M = range(0xE0000, 0x100000)
"""Where a PC's firmware has its copy."""


def stays_in_firmware(qmp: Qmp, argv: Sequence[str]) -> str:
    try:
        roms = list(firmware_in(monitor(qmp, "info roms"), argv))
        names = set[str]()
        for _ in range(_LOOKS if roms else 0):
            names.add(place_of(monitor(qmp, "info registers"), roms))
            if "" in names:
                return ""
            time.sleep(_APART_S)
    except QmpError:
        return ""
    return ", ".join(sorted(names))


def firmware_in(roms: str, argv: Sequence[str]) -> Iterator[tuple[range, str]]:
    """The places of the ROMs that are no file of the command line but that of `-bios`."""
    given = {Path(word).name for option, word in pairwise(argv) if option in _OF_GUEST}
    for match in _ROM.finditer(roms):
        begin, size, name = int(match[1], 16), int(match[2], 16), match[3].partition(" ELF ")[0]
        if Path(name).name not in given:
            yield range(begin, begin + size), Path(name).name
            if begin + size == 1 << 32:
                yield _BELOW_1M, Path(name).name


_OF_GUEST = {"-kernel", "-initrd", "-dtb"}


def place_of(registers: str, roms: Sequence[tuple[range, str]]) -> str:
    """In which of them the program counter is; empty: in none."""
    at = counter_of(registers)
    return next((name for place, name in roms if at in place), "")


def counter_of(registers: str) -> int | None:
    """The address of the program counter of one CPU."""
    counter, segment = _COUNTER.search(registers), _SEGMENT.search(registers)
    if counter is None:
        return None
    return int(counter[1], 16) + (int(segment[1], 16) if segment else 0)


def monitor(qmp: Qmp, line: str) -> str:
    answer = qmp.execute("human-monitor-command", {"command-line": line})
    return (answer if isinstance(answer, str) else "").replace("\r\n", "\n")
