"""What a guest holds of the host's caches and moves from its memory, at given moments of a run on wall time.

Takes the guest's process; writes memory.json, from which the judge takes what was used in the window. Where
the host does not count, the file says why. Does not fail but with OSError for the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchgate.base.files import write_json
from benchgate.host import resctrl
from benchgate.host.resctrl import Group, MemoryCounters
from benchgate.run.pinning import threads

FILE = "memory.json"


class MemoryUse:
    def __init__(self, pid: int, pins: Sequence[int], mark: str, root: Path = resctrl.ROOT) -> None:
        self._pid = pid
        self._group = Group(f"benchgate-{mark}", root)
        self._capacity = resctrl.last_cache_bytes(pins)
        self._samples: list[tuple[str, MemoryCounters]] = []
        self.join()

    def join(self) -> None:
        """All threads that the process has now."""
        self._group.join(sorted(threads(self._pid)))

    def note(self, moment: str) -> None:
        """`moment`: as in threads.json; empty: between two of them."""
        if not self._group.why:
            self._samples.append((moment, self._group.read()))

    def keep(self, folder: Path) -> None:
        samples = [{"moment": moment, **asdict(counters)} for moment, counters in self._samples]
        value = {"why": self._group.why, "cache_bytes": self._capacity, "samples": samples}
        write_json(folder / FILE, value)

    def close(self) -> None:
        self._group.close()
