"""How many guests fit on this host side by side, where time on the host does not matter.

Takes a guest's memory as QEMU's `-m` has it; gives a count of at least one. Fails with nothing: where it
cannot tell how large a guest is, one at a time.
"""

from __future__ import annotations

import os
import re

import psutil

_UNITS = {"": 20, "K": 10, "M": 20, "G": 30, "T": 40}
_ALWAYS_BYTES = 512 << 20
"""What QEMU itself takes beside its guest's memory, its translated code above all."""


def guests(memory: str) -> int:
    return fitting(memory, len(os.sched_getaffinity(0)), psutil.virtual_memory().available)


def fitting(memory: str, cpus: int, free_bytes: int) -> int:
    """One guest a CPU, as long as half of the free memory is left."""
    size = re.fullmatch(r"([0-9]{1,9})([KMGT]?)", memory.upper())
    if size is None:
        return 1
    each = (int(size[1]) << _UNITS[size[2]]) + _ALWAYS_BYTES
    return max(1, min(cpus, free_bytes // 2 // each))
