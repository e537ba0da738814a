"""What a machine's threads got from the host: CPU time, waiting time, switches, migrations.

Takes a process; gives a `Sample` with an entry per thread, as the kernel counts it since the thread began. A
figure that the host does not offer is None, never 0. `host_delay_ns` says of two samples how long the vCPUs
waited between them, `host_span_ns` of all how long the machine ran. Does not fail: threads of a process that
has ended are absent, for an ended machine is no mistake of the reader.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchgate.machine.pinning import threads


@dataclass(frozen=True, slots=True)
class ThreadUse:
    thread: int
    name: str
    vcpu: int | None
    run_ns: int | None
    delay_ns: int | None
    """Time in which it could have run but waited for its CPU."""
    timeslices: int | None
    voluntary: int | None
    involuntary: int | None
    migrations: int | None


@dataclass(frozen=True, slots=True)
class Sample:
    """All threads at one moment (`start`, `ready`, `result`, `end`, and `exit` or `stop`)."""

    moment: str
    t_ns: int
    threads: tuple[ThreadUse, ...]

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def sample(pid: int, moment: str, vcpus: Sequence[int]) -> Sample:
    stamp = time.monotonic_ns()
    uses = []
    for thread, name in sorted(threads(pid).items()):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            uses.append(_use(pid, thread, name, vcpus))
    return Sample(moment, stamp, tuple(uses))


def host_delay_ns(samples: Sequence[Sample], since: str = "ready", until: str = "result") -> int | None:
    """How long the vCPU threads were ready to run but had to wait, between two moments; None: not known."""
    moments = {one.moment: one for one in reversed(samples)}
    if since not in moments or until not in moments:
        return None
    before, after = _delays(moments[since]), _delays(moments[until])
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
    """How long the machine ran, by the host's clock: from being let go to its exit. None: it was not seen."""
    moments = {one.moment: one.t_ns for one in samples}
    over = moments.get("exit", moments.get("stop"))
    return None if over is None or "start" not in moments else over - moments["start"]


def _delays(of: Sample) -> dict[int, int | None]:
    """By vCPU thread. A kernel that keeps no such books says 0 timeslices of a thread that has run."""
    return {
        use.thread: use.delay_ns if use.timeslices else None for use in of.threads if use.vcpu is not None
    }


def _use(pid: int, thread: int, name: str, vcpus: Sequence[int]) -> ThreadUse:
    folder = Path(f"/proc/{pid}/task/{thread}")
    status = _fields(folder / "status")
    if not status:
        raise FileNotFoundError(folder)
    schedstat = _numbers(folder / "schedstat")
    return ThreadUse(
        thread=thread,
        name=name,
        vcpu=vcpus.index(thread) if thread in vcpus else None,
        run_ns=schedstat[0],
        delay_ns=schedstat[1],
        timeslices=schedstat[2],
        voluntary=_number(status.get("voluntary_ctxt_switches")),
        involuntary=_number(status.get("nonvoluntary_ctxt_switches")),
        migrations=_number(_fields(folder / "sched").get("se.nr_migrations")),
    )


def _numbers(path: Path) -> tuple[int | None, int | None, int | None]:
    words = _text(path).split()
    if len(words) != 3:
        return (None, None, None)
    return (_number(words[0]), _number(words[1]), _number(words[2]))


def _fields(path: Path) -> dict[str, str]:
    """Lines of the form `key : value`."""
    pairs = (line.partition(":") for line in _text(path).splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _number(word: str | None) -> int | None:
    return int(word) if word is not None and word.isdigit() else None
