"""What threads hold of the last cache and move from and to memory, by the kernel's resctrl file system.

Takes threads of a process; makes a monitoring group for them, and gives its counters at any moment; `close`
removes the group. Needs root, a mounted /sys/fs/resctrl, and a processor that counts (Intel RDT, AMD PQoS).
Nothing fails: where one of these is missing, `why` says which, and the counters are None.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchgate.host.caches import caches
from benchgate.host.procfs import number_of

ROOT = Path("/sys/fs/resctrl")
_OCCUPANCY, _MOVED = "llc_occupancy", "mbm_total_bytes"
_LAST_LEVEL = 3


@dataclass(frozen=True, slots=True)
class MemoryCounters:
    time_ns: int
    held_bytes: int | None
    """What the threads hold of the last caches at this moment."""
    moved_bytes: int | None
    """What they moved from and to memory since the group was made."""


class Group:
    def __init__(self, name: str, root: Path = ROOT) -> None:
        self._folder = root / "mon_groups" / name
        self.why = ""
        """Why nothing is counted; empty if something is."""
        try:
            self._folder.mkdir()
        except OSError as error:
            self.why = _why_not(error, root)
            return
        if not self._counters(_OCCUPANCY) and not self._counters(_MOVED):
            self.why = "this processor counts neither what is held of a cache nor what is moved from memory"

    def join(self, threads: Iterable[int]) -> None:
        """These threads, and all that they start from now on."""
        for thread in () if self.why else threads:
            try:
                (self._folder / "tasks").write_text(str(thread))
            except ProcessLookupError:
                continue  # it has ended
            except OSError as error:
                self.why = f"resctrl refuses a thread of the guest: {error.strerror}"

    def read(self) -> MemoryCounters:
        return MemoryCounters(time.monotonic_ns(), self._sum(_OCCUPANCY), self._sum(_MOVED))

    def close(self) -> None:
        with suppress(OSError):
            self._folder.rmdir()

    def _sum(self, name: str) -> int | None:
        """The sum over all caches; None unless each of them counts: one says "Unavailable" at times."""
        result = [number_of(counter) for counter in self._counters(name)] if not self.why else []
        known = [number for number in result if number is not None]
        return sum(known) if known and len(known) == len(result) else None

    def _counters(self, name: str) -> list[Path]:
        return sorted(self._folder.glob(f"mon_data/mon_L{_LAST_LEVEL}_*/{name}"))


def last_cache_bytes(cpus: Iterable[int], root: Path = Path("/")) -> int | None:
    """The size of all last caches that these CPUs share, each counted once; None if one is not told."""
    last = [[cache for cache in caches(cpu, root) if cache.level == _LAST_LEVEL][:1] for cpu in cpus]
    sizes = {cache.shared: cache.size for found in last for cache in found}
    return sum(sizes.values()) if last and all(last) else None


def _why_not(error: OSError, root: Path) -> str:
    if not (root / "schemata").exists():
        return f"resctrl is not mounted at {root}, or this host has none (no Intel RDT, no AMD PQoS)"
    if isinstance(error, FileNotFoundError):
        return "this processor monitors nothing: resctrl has no mon_groups"
    if isinstance(error, PermissionError):
        return "only root may make a group in resctrl"
    return f"resctrl gives no group: {error.strerror}"
