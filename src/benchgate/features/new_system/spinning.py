"""Where the CPUs of a guest spin that computes and prints nothing.

Takes QEMU's monitor and command line; gives a text such as `wait_for_disk (0x1012ab)`, by the symbols of the
kernel's ELF file, or an empty one. Where QEMU says nothing of its registers, nothing is known. Does not fail.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchgate.base.errors import VerifyError
from benchgate.base.text import visible
from benchgate.features.new_system.firmware import counter_of, monitor
from benchgate.insn.symbols import NO_SYMBOLS, Symbols, is_elf, read_symbols
from benchgate.run.qmp import Qmp, QmpError

_LOOKS, _APART_S = 20, 0.02
_CPU = re.compile(r"^CPU#(\d+)$", re.MULTILINE)
_HALTED = re.compile(r"\bHLT=1\b")
_MOST = 3
"""A loop is within so many functions at most, or it is no loop that a name would tell."""


def where_it_spins(qmp: Qmp, argv: Sequence[str]) -> str:
    looks: list[str] = []
    try:
        for _ in range(_LOOKS):
            looks.append(monitor(qmp, "info registers -a"))
            time.sleep(_APART_S)
    except QmpError:
        return ""
    return spinning(looks, _symbols(argv))


def spinning(looks: Sequence[str], symbols: Symbols) -> str:
    """The functions, or the range, in which each CPU that does not halt was at each look."""
    seen: dict[int, list[int]] = {}
    for look in looks:
        for cpu, registers in enumerate(_CPU.split(look)[2::2]):
            at = counter_of(registers)
            if at is not None and not _HALTED.search(registers):
                seen.setdefault(cpu, []).append(at)
    places = {cpu: _place(counters, symbols) for cpu, counters in seen.items() if len(counters) == len(looks)}
    found = {cpu: place for cpu, place in places.items() if place}
    if len(seen) == 1:
        return "".join(found.values())
    return "; ".join(f"CPU {cpu} in {place}" for cpu, place in found.items())


def _place(counters: Sequence[int], symbols: Symbols) -> str:
    least, most = min(counters), max(counters)
    places = f"{least:#x}" if least == most else f"{least:#x} to {most:#x}"
    names = sorted({symbols.name_of(at) or "" for at in counters})
    if "" in names or len(names) > _MOST:
        return places
    return f"{', '.join(map(visible, names))} ({places})"


def _symbols(argv: Sequence[str]) -> Symbols:
    """Those of the kernel that the command line names."""
    kernels = [Path(word) for option, word in pairwise(argv) if option == "-kernel"]
    try:
        return read_symbols(kernels[0]) if kernels and is_elf(kernels[0]) else NO_SYMBOLS
    except (OSError, VerifyError):
        return NO_SYMBOLS
