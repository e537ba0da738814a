"""How many guests this host can run concurrently, if their time on the host does not matter.

Takes a guest's memory in the form of QEMU's `-m`; gives a count of at least one. Nothing fails: if the memory
has an unknown form, the count is one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import psutil

_UNITS = {"": 20, "K": 10, "M": 20, "G": 30, "T": 40}
_ALWAYS_BYTES = 512 << 20
"""The memory of QEMU itself in addition to its guest's, mainly translated code."""


def guests_at_once(memory: str, kept_to: Sequence[int] = ()) -> int:
    """`kept_to`: the host CPUs of the guests; default: all CPUs of this process."""
    cpus = len(kept_to) or len(os.sched_getaffinity(0))
    return fitting(memory, cpus, psutil.virtual_memory().available)


def fitting(memory: str, cpus: int, free_bytes: int) -> int:
    """One guest per CPU, limited to half of the free memory."""
    size = re.fullmatch(r"([0-9]{1,9})([KMGT]?)", memory.upper())
    if size is None:
        return 1
    each = (int(size[1]) << _UNITS[size[2]]) + _ALWAYS_BYTES
    return max(1, min(cpus, free_bytes // 2 // each))
