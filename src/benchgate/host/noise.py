"""Counters that show disturbance by other work on this host: per thread, and for the whole host.

Takes thread ids and /proc, /sys (below `root`); gives frozen snapshots, which the kernel counts since boot or
since the thread started. Nothing fails: a counter that the host does not offer, and every counter of a thread
that has ended, is None and never 0.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from benchgate.base.jsonfields import As, OrWord
from benchgate.base.text import UNAVAILABLE
from benchgate.host.procfs import CPUS, number_of, text_of

_Counter = Annotated[int | None, OrWord(UNAVAILABLE)]
"""In files; earlier versions wrote null for a counter that the host did not offer."""
_Counters = Annotated[Mapping[int, int] | None, OrWord(UNAVAILABLE)]


@dataclass(frozen=True, slots=True)
class ThreadCounters:
    thread: int
    name: Annotated[str | None, As(str, str, str)]
    """None: the thread has ended; such counters are in no file."""
    run_ns: _Counter
    delay_ns: _Counter
    """Time in which it was runnable but waited for a CPU."""
    timeslices: _Counter
    voluntary: _Counter
    involuntary: _Counter
    """Context switches."""
    migrations: _Counter
    cpu: _Counter
    """The CPU it ran on last."""


@dataclass(frozen=True, slots=True)
class HostSnapshot:
    """The host's counters; mappings are by CPU."""

    time_ns: int
    steal_ticks: _Counters
    all_ticks: _Counters
    psi_cpu_us: _Counter
    """Time in which some task waited for a CPU."""
    frequency_khz: _Counters
    throttles: _Counters


def detectors(root: Path = Path("/")) -> dict[str, bool]:
    """Which kinds of noise this host can report, under the names in doctor's report and session.json."""
    thread = thread_counters(os.getpid(), os.getpid(), root)
    host = host_snapshot(root)
    return {
        "run delay": thread.delay_ns is not None,
        "involuntary switches": thread.involuntary is not None,
        "migrations": thread.migrations is not None,
        "steal": host.steal_ticks is not None,
        "PSI cpu": host.psi_cpu_us is not None,
        "frequency": host.frequency_khz is not None,
        "throttling": host.throttles is not None,
    }


def run_delay_ns(pid: int) -> int | None:
    """The time in which the first thread of a process was runnable but waited for a CPU."""
    return _schedstat(text_of(Path(f"/proc/{pid}/task/{pid}/schedstat")))[1]


def thread_counters(pid: int, thread: int, root: Path = Path("/")) -> ThreadCounters:
    folder = root / "proc" / str(pid) / "task" / str(thread)
    run, delay, timeslices = _schedstat(text_of(folder / "schedstat"))
    status = text_of(folder / "status") or ""
    return ThreadCounters(
        thread=thread,
        name=_field(status, r"^Name:\s*(.+)$", str),
        run_ns=run,
        delay_ns=delay,
        timeslices=timeslices,
        voluntary=_field(status, r"^voluntary_ctxt_switches:\s*(\d+)$", int),
        involuntary=_field(status, r"^nonvoluntary_ctxt_switches:\s*(\d+)$", int),
        migrations=_field(text_of(folder / "sched") or "", r"^(?:se\.)?nr_migrations\s*:\s*(\d+)$", int),
        cpu=_last_cpu(text_of(folder / "stat")),
    )


def host_snapshot(root: Path = Path("/"), cpus: Iterable[int] | None = None) -> HostSnapshot:
    """The counters of these CPUs; by default of all in /proc/stat."""
    steal, total = _ticks(text_of(root / "proc/stat"))
    wanted = sorted(total if cpus is None else cpus)
    psi = re.search(r"^some .*\btotal=(\d+)$", text_of(root / "proc/pressure/cpu") or "", re.MULTILINE)
    return HostSnapshot(
        time_ns=time.monotonic_ns(),
        steal_ticks=_all_of(wanted, steal),
        all_ticks=_all_of(wanted, total),
        psi_cpu_us=int(psi[1]) if psi else None,
        frequency_khz=_per_cpu(root, wanted, "cpufreq/scaling_cur_freq"),
        throttles=_per_cpu(root, wanted, "thermal_throttle/core_throttle_count"),
    )


def _schedstat(text: str | None) -> tuple[int | None, int | None, int | None]:
    """Time on a CPU, time waiting for one, and time slices. A kernel that does not count prints zeros."""
    match = re.fullmatch(r"(\d+)\s+(\d+)\s+(\d+)", text or "")
    if match is None or match[3] == "0":
        return None, None, None
    return int(match[1]), int(match[2]), int(match[3])


def _last_cpu(stat: str | None) -> int | None:
    """Field 39 of /proc/PID/stat; the name before it may contain spaces and parentheses."""
    words = (stat or "").rpartition(")")[2].split()
    return int(words[36]) if len(words) > 36 and words[36].isdigit() else None


def _field(text: str, pattern: str, kind: Any) -> Any:
    match = re.search(pattern, text, re.MULTILINE)
    return kind(match[1]) if match else None


def _ticks(stat: str | None) -> tuple[dict[int, int], dict[int, int]]:
    """Stolen and total ticks by CPU. User time already includes guest time (fields 9 and 10)."""
    steal: dict[int, int] = {}
    total: dict[int, int] = {}
    for match in re.finditer(r"^cpu(\d+)((?: \d+){4,})$", stat or "", re.MULTILINE):
        fields = [int(word) for word in match[2].split()]
        total[int(match[1])] = sum(fields[:8])
        if len(fields) >= 8:
            steal[int(match[1])] = fields[7]
    return steal, total


def _per_cpu(root: Path, cpus: list[int], name: str) -> dict[int, int] | None:
    result = {cpu: number_of(root / CPUS / f"cpu{cpu}" / name) for cpu in cpus}
    return _all_of(cpus, {cpu: value for cpu, value in result.items() if value is not None})


def _all_of(cpus: list[int], found: Mapping[int, int]) -> dict[int, int] | None:
    """None unless every CPU has a value: a missing one would read as no disturbance."""
    return {cpu: found[cpu] for cpu in cpus} if cpus and all(cpu in found for cpu in cpus) else None
