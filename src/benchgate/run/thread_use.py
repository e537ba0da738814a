"""The host's accounting at given moments of a run: of the guest's threads, of the host's CPUs, and of memory.

Takes a process; gives a `Sample` with an entry per thread and, on the wall-time lanes, the host's counters;
writes them to threads.json and host.json, where a counter that the host does not offer is "unavailable".
`MemoryUse` writes what the guest holds of the host's caches and moves from its memory to memory.json, or why
the host does not count it. Does not fail but with OSError for a file: threads of a process that has ended are
missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchgate.base.files import write_json
from benchgate.base.text import UNAVAILABLE
from benchgate.host import resctrl
from benchgate.host.noise import HostSnapshot, ThreadCounters, host_snapshot, thread_counters
from benchgate.host.resctrl import Group, MemoryCounters
from benchgate.run.pinning import threads

MEMORY_FILE = "memory.json"


@dataclass(frozen=True, slots=True)
class ThreadUse:
    vcpu: int | None
    counters: ThreadCounters


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment (`start`, `ready`, `result`, `end`, and `exit` or `stop`)."""

    moment: str
    t_ns: int
    threads: tuple[ThreadUse, ...]
    host: HostSnapshot | None = None
    """None: not asked for."""

    def threads_as_json(self) -> dict[str, object]:
        threads = [{"vcpu": use.vcpu, **_counters(use.counters)} for use in self.threads]
        return {"moment": self.moment, "t_ns": self.t_ns, "threads": threads}


def _counters(counters: ThreadCounters | HostSnapshot) -> dict[str, object]:
    found = asdict(counters)
    return {name: UNAVAILABLE if value is None else value for name, value in found.items()}


def sample(pid: int, moment: str, vcpus: Sequence[int], cpus: Sequence[int] | None = None) -> Sample:
    """`cpus`: the host CPUs to read the counters of; none of them: all; None: read no counter of the host."""
    stamp = time.monotonic_ns()
    seen = (thread_counters(pid, thread) for thread in sorted(threads(pid)))
    uses = (
        ThreadUse(vcpus.index(one.thread) if one.thread in vcpus else None, one) for one in seen if one.name
    )
    return Sample(moment, stamp, tuple(uses), None if cpus is None else host_snapshot(cpus=cpus or None))


def host_span_ns(samples: Sequence[Sample]) -> int | None:
    """How long the guest ran by the host's clock, from its start to its exit; None: not known."""
    moments = {one.moment: one.t_ns for one in samples}
    end = moments.get("exit", moments.get("stop"))
    return None if end is None or "start" not in moments else end - moments["start"]


def keep_samples(folder: Path, samples: Sequence[Sample]) -> None:
    write_json(folder / "threads.json", [item.threads_as_json() for item in samples])
    hosts: list[Mapping[str, object]] = [
        {"moment": one.moment, **_counters(one.host)} for one in samples if one.host is not None
    ]
    if hosts:
        ticks = os.sysconf("SC_CLK_TCK")
        write_json(folder / "host.json", {"ticks_per_s": ticks, "samples": hosts})


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
        write_json(folder / MEMORY_FILE, value)

    def close(self) -> None:
        self._group.close()
