"""What a guest holds of the host's caches and moves from its memory, at given moments of a run on wall time.

Takes the guest's process; writes memory.json, from which the judge takes what was used in the window. Where
the host does not count, the file says why. Does not fail but with OSError for the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from benchgate.base.files import write_json
from benchgate.base.jsonfields import Presence, as_json
from benchgate.host import resctrl
from benchgate.host.resctrl import Group, MemoryCounters
from benchgate.run.pinning import threads

FILE = "memory.json"


@dataclass(frozen=True, slots=True)
class MemorySample:
    moment: str
    """As in threads.json; empty: between two of them."""
    counters: Annotated[MemoryCounters, Presence.INLINE]


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """memory.json."""

    why: str
    """Why nothing was counted; empty if something was."""
    cache_bytes: int | None
    samples: tuple[MemorySample, ...]


class MemoryUse:
    def __init__(self, pid: int, pins: Sequence[int], mark: str, root: Path = resctrl.ROOT) -> None:
        self._pid = pid
        self._group = Group(f"benchgate-{mark}", root)
        self._capacity = resctrl.last_cache_bytes(pins)
        self._samples: list[MemorySample] = []
        self.join()

    def join(self) -> None:
        """All threads that the process has now."""
        self._group.join(sorted(threads(self._pid)))

    def note(self, moment: str) -> None:
        if not self._group.why:
            self._samples.append(MemorySample(moment, self._group.read()))

    def keep(self, folder: Path) -> None:
        record = MemoryRecord(self._group.why, self._capacity, tuple(self._samples))
        write_json(folder / FILE, as_json(record))

    def close(self) -> None:
        self._group.close()
