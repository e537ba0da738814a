"""The caches that the host tells of a CPU, and the CPUs that share each.

Takes a CPU and the root of /sys, which tests replace; gives frozen values. Nothing fails: a cache whose
level, kind or size is not told is missing. A virtual machine may tell what is not so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchgate.host.procfs import CPUS, cpu_list_of, number_of, text_of

_SIZE = re.compile(r"([0-9]{1,9})([KM]?)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


@dataclass(frozen=True, slots=True)
class CacheDescription:
    level: int
    kind: str
    """Data, Instruction or Unified."""
    size: int
    ways: int | None
    line: int | None
    shared: tuple[int, ...]
    """The CPUs that share it; empty if the host does not tell them."""


def caches(cpu: int, root: Path = Path("/")) -> tuple[CacheDescription, ...]:
    folders = sorted((root / CPUS / f"cpu{cpu}" / "cache").glob("index[0-9]*"))
    return tuple(description for folder in folders if (description := _cache(folder)))


def _cache(folder: Path) -> CacheDescription | None:
    level, kind = number_of(folder / "level"), text_of(folder / "type")
    size = _SIZE.fullmatch(text_of(folder / "size") or "")
    if not level or kind not in ("Data", "Instruction", "Unified") or not size or not int(size[1]):
        return None
    ways, line = (number_of(folder / name) for name in ("ways_of_associativity", "coherency_line_size"))
    shared = cpu_list_of(folder / "shared_cpu_list") or ()
    return CacheDescription(level, kind, int(size[1]) * _UNITS[size[2]], ways or None, line or None, shared)
