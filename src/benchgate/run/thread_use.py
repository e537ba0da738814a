"""The host's accounting at given moments of a run: of the guest's threads, and of the host's CPUs.

Takes a process; gives a `Sample` with an entry per thread and, on the wall-time lanes, the host's counters;
writes them to threads.json and host.json, where a counter that the host does not offer is "unavailable".
`host_span_ns` computes how long the guest ran. Does not fail: threads of a process that has ended are
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
from benchgate.host.noise import HostSnapshot, ThreadCounters, host_snapshot, thread_counters
from benchgate.run.pinning import threads


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
