"""Reads the host's counters of a guest's threads, of CPUs and of memory at given moments of a run.

Takes a process; gives a `UseSample` with an entry per thread and, on the wall-time lanes, the host's
counters; writes them to threads.json and host.json, where a counter that the host does not offer is
"unavailable". `MemoryUse` writes what the guest holds of the host's caches and moves from its memory to
memory.json, or why the host does not count it. Does not fail but with OSError for a file: threads of a
process that has ended are missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from benchgate.base.files import write_json
from benchgate.base.jsonfields import Between, Presence, as_json
from benchgate.host import resctrl
from benchgate.host.noise import HostSnapshot, ThreadCounters, host_snapshot, thread_counters
from benchgate.host.resctrl import Group, MemoryCounters
from benchgate.run.pinning import numbers

MEMORY_FILE = "memory.json"
_LAST = frozenset({"end", "stop"})
"""The moments after which a guest's process ends."""


@dataclass(frozen=True, slots=True)
class ThreadUse:
    vcpu: int | None
    counters: Annotated[ThreadCounters, Presence.INLINE]


@dataclass(frozen=True, slots=True)
class UseSample:
    """One moment (`start`, `ready`, `result`, `end`, and `exit` or `stop`)."""

    moment: str
    t_ns: int
    threads: tuple[ThreadUse, ...]
    host: Annotated[HostSnapshot | None, Presence.APART] = None
    """The host's counters; None if they were not asked for."""

    @property
    def vcpus(self) -> Mapping[int, ThreadCounters]:
        """Maps the threads of the vCPUs to their counters."""
        counters = (thread.counters for thread in self.threads if thread.vcpu is not None)
        return MappingProxyType({counter.thread: counter for counter in counters})


@dataclass(frozen=True, slots=True)
class HostMoment:
    moment: str
    snapshot: Annotated[HostSnapshot, Presence.INLINE]


@dataclass(frozen=True, slots=True)
class HostRecord:
    """The content of host.json."""

    ticks_per_s: Annotated[int, Between(1)]
    samples: tuple[HostMoment, ...]


def sample(pid: int, moment: str, vcpus: Sequence[int], cpus: Sequence[int] | None) -> UseSample:
    """Takes a sample. `cpus` are the host CPUs whose counters are read: empty for all. None: the guest is on
    the instruction clock, to which no counter matters, so threads are read only where a process ends: how
    long did they run and wait in all?"""
    stamp = time.monotonic_ns()
    if cpus is None and moment not in _LAST:
        return UseSample(moment, stamp, ())
    number = {thread: vcpu for vcpu, thread in enumerate(vcpus)}
    seen = (thread_counters(pid, thread) for thread in sorted(numbers(pid)))
    uses = (ThreadUse(number.get(counters.thread), counters) for counters in seen if counters.name)
    return UseSample(moment, stamp, tuple(uses), None if cpus is None else host_snapshot(cpus=cpus or None))


def host_span_ns(samples: Sequence[UseSample]) -> int | None:
    """The time from the guest's start to its exit by the host's clock; None if unknown."""
    moments = {use_sample.moment: use_sample.t_ns for use_sample in samples}
    end = moments.get("exit", moments.get("stop"))
    return None if end is None or "start" not in moments else end - moments["start"]


def keep_samples(folder: Path, samples: Sequence[UseSample]) -> None:
    write_json(folder / "threads.json", [as_json(use_sample) for use_sample in samples])
    hosts = tuple(HostMoment(sample.moment, sample.host) for sample in samples if sample.host is not None)
    if hosts:
        write_json(folder / "host.json", as_json(HostRecord(os.sysconf("SC_CLK_TCK"), hosts)))


@dataclass(frozen=True, slots=True)
class MemorySample:
    moment: str
    """The moment, as in threads.json; empty between two moments."""
    counters: Annotated[MemoryCounters, Presence.INLINE]


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """The content of memory.json."""

    why: str
    """The reason why nothing was counted; empty if something was."""
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
        """Counts all threads that the process has now."""
        self._group.join(sorted(numbers(self._pid)))

    def note(self, moment: str) -> None:
        if not self._group.why:
            self._samples.append(MemorySample(moment, self._group.read()))

    def keep(self, folder: Path) -> None:
        record = MemoryRecord(self._group.why, self._capacity, tuple(self._samples))
        write_json(folder / MEMORY_FILE, as_json(record))

    def close(self) -> None:
        self._group.close()
