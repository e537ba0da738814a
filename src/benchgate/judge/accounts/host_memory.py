"""What a run on wall time used of the host's last cache and memory, from its memory.json.

Takes the record and the length of the window; gives a `HostMemory`. The moved bytes are those between the
ready line and the last line, at the mean rate of that time. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.base.text import one_line
from benchgate.run.thread_use import MemoryRecord, MemorySample

_BEGINS, _ENDS = "ready", ("result", "end")


@dataclass(frozen=True, slots=True)
class HostMemory:
    held_bytes: int | None
    """The most at one moment between the ready line and the last one."""
    moved_bytes: int | None
    cache_bytes: int | None
    """The size of the last caches."""
    why: str
    """Why a figure is None."""


def host_memory(record: MemoryRecord, window_ns: int) -> HostMemory:
    inside, why, capacity = _inside(record.samples), one_line(record.why, 200), record.cache_bytes
    if not inside:
        return HostMemory(None, None, capacity, why or "no counter was read in the window")
    held = [one.counters.held_bytes for one in inside]
    known = [one for one in held if one is not None]
    most = max(known) if len(known) == len(held) else None
    return HostMemory(
        most, _moved(inside, window_ns), capacity, why or "a counter could not be read in the window"
    )


def _inside(samples: Sequence[MemorySample]) -> Sequence[MemorySample]:
    """The samples begin at the ready line and end at the last line seen; there are none if one is missing."""
    begins = [n for n, sample in enumerate(samples) if sample.moment == _BEGINS]
    ends = [n for n, sample in enumerate(samples) if sample.moment in _ENDS]
    return samples[begins[0] : ends[-1] + 1] if begins and ends and begins[0] < ends[-1] else ()


def _moved(inside: Sequence[MemorySample], window_ns: int) -> int | None:
    first, last = inside[0].counters, inside[-1].counters
    if first.moved_bytes is None or last.moved_bytes is None or first.moved_bytes > last.moved_bytes:
        return None
    span = last.time_ns - first.time_ns
    return (last.moved_bytes - first.moved_bytes) * window_ns // span if span > 0 else None
