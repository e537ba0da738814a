"""The host's accounting of a guest's threads at given moments: CPU time, waiting, switches, migrations.

Takes a process; gives a `Sample` with an entry per thread. `host_delay_ns` computes from the samples how long
the vCPUs waited for a CPU; `host_span_ns` how long the guest ran. Does not fail: threads of a process that
has ended are missing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchgate.base.files import write_json
from benchgate.host.noise import ThreadCounters, thread_counters
from benchgate.run.pinning import threads


@dataclass(frozen=True, slots=True)
class ThreadUse:
    vcpu: int | None
    counters: ThreadCounters


@dataclass(frozen=True, slots=True)
class Sample:
    """All threads at one moment (`start`, `ready`, `result`, `end`, and `exit` or `stop`)."""

    moment: str
    t_ns: int
    threads: tuple[ThreadUse, ...]

    def as_json(self) -> dict[str, object]:
        threads = [{"vcpu": use.vcpu, **asdict(use.counters)} for use in self.threads]
        return {"moment": self.moment, "t_ns": self.t_ns, "threads": threads}


def sample(pid: int, moment: str, vcpus: Sequence[int]) -> Sample:
    stamp = time.monotonic_ns()
    seen = (thread_counters(pid, thread) for thread in sorted(threads(pid)))
    uses = (
        ThreadUse(vcpus.index(one.thread) if one.thread in vcpus else None, one) for one in seen if one.name
    )
    return Sample(moment, stamp, tuple(uses))


def host_delay_ns(samples: Sequence[Sample]) -> int | None:
    """How long the vCPU threads waited for a CPU between `ready` and `result`; None: not known."""
    moments = {one.moment: one for one in reversed(samples)}
    if "ready" not in moments or "result" not in moments:
        return None
    before, after = _delays(moments["ready"]), _delays(moments["result"])
    if not before or before.keys() != after.keys():
        return None
    waited = 0
    for thread, start in before.items():
        end = after[thread]
        if start is None or end is None or end < start:
            return None
        waited += end - start
    return waited


def host_span_ns(samples: Sequence[Sample]) -> int | None:
    """How long the guest ran by the host's clock, from its start to its exit; None: not known."""
    moments = {one.moment: one.t_ns for one in samples}
    end = moments.get("exit", moments.get("stop"))
    return None if end is None or "start" not in moments else end - moments["start"]


def _delays(one: Sample) -> dict[int, int | None]:
    """The delay of each vCPU thread."""
    return {use.counters.thread: use.counters.delay_ns for use in one.threads if use.vcpu is not None}


def keep_samples(folder: Path, samples: Sequence[Sample]) -> None:
    write_json(folder / "threads.json", [item.as_json() for item in samples])
