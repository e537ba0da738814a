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
_BYTES_OF_LINE = 200
"""What the simulation of a memory system keeps of each line of the guest, at most."""
_ALWAYS_BYTES = 512 << 20
"""The memory of QEMU itself in addition to its guest's, mainly translated code."""


def guests_at_once(memory: str, kept_to: Sequence[int] = (), line: int = 0) -> int:
    """`kept_to`: the host CPUs of the guests; default: all CPUs of this process. `line`: the bytes of a cache
    line of their machine; 0: no memory is simulated."""
    cpus = len(kept_to) or len(os.sched_getaffinity(0))
    return fitting(memory, cpus, psutil.virtual_memory().available, line)


def fitting(memory: str, cpus: int, free_bytes: int, line: int = 0) -> int:
    """One guest per CPU, limited to half of the free memory."""
    size = re.fullmatch(r"([0-9]{1,9})([KMGT]?)", memory.upper())
    if size is None:
        return 1
    guest = int(size[1]) << _UNITS[size[2]]
    each = guest + _ALWAYS_BYTES + (guest // line * _BYTES_OF_LINE if line else 0)
    return max(1, min(cpus, free_bytes // 2 // each))
