"""What else happened on this host while something was measured: snapshots, and what grew between two of them.

Takes thread ids and /proc, /sys (below `root`); gives frozen snapshots and their differences. Nothing fails:
what a host does not offer, or a thread that has ended, is None, and "unavailable" in plain form - never 0.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchgate.host.facts import UNAVAILABLE, number_of, text_of

_CPUS = Path("sys/devices/system/cpu")


@dataclass(frozen=True, slots=True)
class ThreadSnapshot:
    """One thread's counters so far."""

    tid: int
    name: str | None
    time_ns: int
    run_ns: int | None
    run_delay_ns: int | None
    """Time spent runnable, but not running."""
    voluntary: int | None
    involuntary: int | None
    """Context switches."""
    migrations: int | None
    cpu: int | None
    """The CPU it ran on last."""


@dataclass(frozen=True, slots=True)
class ThreadNoise:
    """What happened to one thread between two snapshots."""

    tid: int
    name: str | None
    elapsed_ns: int
    run_ns: int | None
    run_delay_ns: int | None
    voluntary: int | None
    involuntary: int | None
    migrations: int | None
    cpu_before: int | None
    cpu_after: int | None


@dataclass(frozen=True, slots=True)
class HostSnapshot:
    """The host's counters so far; mappings are by CPU."""

    time_ns: int
    steal_ticks: Mapping[int, int] | None
    all_ticks: Mapping[int, int] | None
    psi_cpu_us: int | None
    """Time in which some task waited for a CPU."""
    frequency_khz: Mapping[int, int] | None
    throttles: Mapping[int, int] | None


@dataclass(frozen=True, slots=True)
class HostNoise:
    """What happened to the host between two snapshots."""

    elapsed_ns: int
    steal_share: Mapping[int, float] | None
    """By CPU: the part of its time that the hypervisor gave to others; None also if no tick went by."""
    psi_cpu_us: int | None
    frequency_spread: float | None
    """Largest over smallest frequency seen in both snapshots, minus one."""
    throttles: int | None


def detectors(root: Path = Path("/"), cpus: Iterable[int] | None = None) -> dict[str, bool]:
    """Which ways to see noise this host has, in the words that doctor and session.json use."""
    thread = thread_snapshot(os.getpid(), os.getpid(), root)
    host = host_snapshot(root, cpus)
    return {
        "run delay": thread.run_delay_ns is not None,
        "involuntary switches": thread.involuntary is not None,
        "migrations": thread.migrations is not None,
        "steal": host.steal_ticks is not None,
        "PSI cpu": host.psi_cpu_us is not None,
        "frequency": host.frequency_khz is not None,
        "throttling": host.throttles is not None,
    }


def thread_snapshot(pid: int, tid: int, root: Path = Path("/")) -> ThreadSnapshot:
    folder = root / "proc" / str(pid) / "task" / str(tid)
    run, delay = _schedstat(text_of(folder / "schedstat"))
    status = text_of(folder / "status") or ""
    return ThreadSnapshot(
        tid=tid,
        name=_field(status, r"^Name:\s*(.+)$", str),
        time_ns=time.monotonic_ns(),
        run_ns=run,
        run_delay_ns=delay,
        voluntary=_field(status, r"^voluntary_ctxt_switches:\s*(\d+)$", int),
        involuntary=_field(status, r"^nonvoluntary_ctxt_switches:\s*(\d+)$", int),
        migrations=_field(text_of(folder / "sched") or "", r"^(?:se\.)?nr_migrations\s*:\s*(\d+)$", int),
        cpu=_last_cpu(text_of(folder / "stat")),
    )


def process_snapshot(pid: int, root: Path = Path("/")) -> tuple[ThreadSnapshot, ...]:
    """Every thread of a process, by thread id; empty where it has ended."""
    try:
        tids = sorted(int(name) for name in os.listdir(root / "proc" / str(pid) / "task"))  # noqa: PTH208
    except OSError:
        return ()
    return tuple(thread_snapshot(pid, tid, root) for tid in tids)


def thread_delta(before: ThreadSnapshot, after: ThreadSnapshot) -> ThreadNoise:
    if before.tid != after.tid:
        raise ValueError(f"snapshots of two threads: {before.tid} and {after.tid}")
    return ThreadNoise(
        tid=before.tid,
        name=after.name or before.name,
        elapsed_ns=after.time_ns - before.time_ns,
        run_ns=_grown(before.run_ns, after.run_ns),
        run_delay_ns=_grown(before.run_delay_ns, after.run_delay_ns),
        voluntary=_grown(before.voluntary, after.voluntary),
        involuntary=_grown(before.involuntary, after.involuntary),
        migrations=_grown(before.migrations, after.migrations),
        cpu_before=before.cpu,
        cpu_after=after.cpu,
    )


def host_snapshot(root: Path = Path("/"), cpus: Iterable[int] | None = None) -> HostSnapshot:
    """The counters of these CPUs; of all that /proc/stat lists by default."""
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


def host_delta(before: HostSnapshot, after: HostSnapshot) -> HostNoise:
    both = [*(before.frequency_khz or {}).values(), *(after.frequency_khz or {}).values()]
    seen = bool(before.frequency_khz and after.frequency_khz) and min(both) > 0
    throttles = _growth(before.throttles, after.throttles)
    return HostNoise(
        elapsed_ns=after.time_ns - before.time_ns,
        steal_share=_shares(before, after),
        psi_cpu_us=_grown(before.psi_cpu_us, after.psi_cpu_us),
        frequency_spread=max(both) / min(both) - 1 if seen else None,
        throttles=None if throttles is None else sum(throttles.values()),
    )


def plain(record: ThreadSnapshot | ThreadNoise | HostSnapshot | HostNoise) -> dict[str, Any]:
    """For JSON: None becomes "unavailable", CPUs become text."""
    found: dict[str, Any] = {}
    for name, value in asdict(record).items():
        if isinstance(value, Mapping):
            found[name] = {str(cpu): share for cpu, share in value.items()}
        else:
            found[name] = UNAVAILABLE if value is None else value
    return found


def _schedstat(text: str | None) -> tuple[int | None, int | None]:
    """Time on a CPU and time waiting for one. A kernel that does not count prints three zeros."""
    words = (text or "").split()
    if len(words) != 3 or not all(word.isdigit() for word in words) or words == ["0", "0", "0"]:
        return None, None
    return int(words[0]), int(words[1])


def _last_cpu(stat: str | None) -> int | None:
    """Field 39 of /proc/PID/stat; the name before it may hold spaces and brackets."""
    words = (stat or "").rpartition(")")[2].split()
    return int(words[36]) if len(words) > 36 and words[36].isdigit() else None


def _field(text: str, pattern: str, kind: Any) -> Any:
    match = re.search(pattern, text, re.MULTILINE)
    return kind(match[1]) if match else None


def _ticks(stat: str | None) -> tuple[dict[int, int], dict[int, int]]:
    """Stolen and all ticks by CPU. Guest time (fields 9, 10) is in user time already: not added again."""
    steal: dict[int, int] = {}
    total: dict[int, int] = {}
    for match in re.finditer(r"^cpu(\d+)((?: \d+){4,})$", stat or "", re.MULTILINE):
        fields = [int(word) for word in match[2].split()]
        total[int(match[1])] = sum(fields[:8])
        if len(fields) >= 8:
            steal[int(match[1])] = fields[7]
    return steal, total


def _shares(before: HostSnapshot, after: HostSnapshot) -> dict[int, float] | None:
    stolen = _growth(before.steal_ticks, after.steal_ticks)
    gone = _growth(before.all_ticks, after.all_ticks)
    if stolen is None or gone is None or not gone or min(gone.values()) <= 0:
        return None
    return {cpu: stolen[cpu] / gone[cpu] for cpu in gone if cpu in stolen} or None


def _per_cpu(root: Path, cpus: list[int], name: str) -> dict[int, int] | None:
    found = {cpu: number_of(root / _CPUS / f"cpu{cpu}" / name) for cpu in cpus}
    return _all_of(cpus, {cpu: value for cpu, value in found.items() if value is not None})


def _all_of(cpus: list[int], found: Mapping[int, int]) -> dict[int, int] | None:
    """What is known of some CPUs only would read as quiet on the others."""
    return {cpu: found[cpu] for cpu in cpus} if cpus and all(cpu in found for cpu in cpus) else None


def _growth(before: Mapping[int, int] | None, after: Mapping[int, int] | None) -> dict[int, int] | None:
    """None also where a counter went back (a CPU that was taken off and on again)."""
    if before is None or after is None or before.keys() != after.keys():
        return None
    grown = {cpu: after[cpu] - before[cpu] for cpu in before}
    return grown if all(value >= 0 for value in grown.values()) else None


def _grown(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None or after < before else after - before
