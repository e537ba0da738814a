"""Attribution: where a run's time went, as counted by the guest itself (`--measure`). Pure.

Takes a `Transcript` and the symbols of the program that ran; gives a `Table`: buckets by phase and by CPU,
locks, threads, and the sampled user addresses by symbol. Does not fail: every valid measure line has a place
in the table. A bucket that a system does not have is None, not 0, and so is a sum with a missing part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchgate.insn.symbols import NO_SYMBOLS, Symbols
from benchgate.judge.wire import AttributionBucket, Transcript

PHASES = ("spawn_ready", "work", "shutdown", "final_total")
WHOLE = PHASES[-1]
"""The phase that covers the whole window, including the three others."""

BUCKETS = (
    "busy_time",
    "idle_time",
    "foreign_time",
    "runnable_time",
    "switches",
    "picks",
    "pick_time",
    "migrations",
    "steals_tried",
    "steals_done",
    "queue_depth_max",
    "ticks",
    "resched_sent",
    "resched_taken",
    "shootdowns",
    "shootdown_acks",
    "page_faults",
    "syscalls",
    "serial_bytes",
    "network_polls",
)
"""The rows of every system's table. Other buckets that a system prints come after them."""

_TIME = re.compile(r"_(?:cycles|ns)\Z")
_THREAD = re.compile(r"thread_([0-9]{1,6})_(running|runnable|blocked|lifetime)\Z")
_LOCK = re.compile(r"lock_([a-z0-9_]+)_(takes|wait_time|hold_time)\Z")
_SAMPLE = "sample_pc"
UNKNOWN = "(no symbol)"

Phases = Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Thread:
    """The times of one thread. The verifier checks that running + runnable + blocked = lifetime."""

    number: int
    cpu: int | None
    running: int | None
    runnable: int | None
    blocked: int | None
    lifetime: int | None


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock class in one phase."""

    takes: int | None
    wait: int | None
    hold: int | None


@dataclass(frozen=True, slots=True)
class Table:
    """One run's attribution. Times are in `unit`."""

    cell: str
    unit: str
    cpus: int
    buckets: Mapping[str, Phases]
    """Bucket -> phase -> the sum over all CPUs, or the maximum for a bucket named `..._max`."""
    by_cpu: Mapping[str, tuple[int | None, ...]]
    """Bucket -> what each CPU counted over the whole window."""
    locks: Mapping[str, Mapping[str, Lock]]
    threads: tuple[Thread, ...]
    samples: Mapping[str, int]
    """Symbol -> timer ticks that found the program there."""

    def value(self, bucket: str, phase: str = WHOLE) -> int | None:
        return self.buckets.get(bucket, {}).get(phase)


def table(cell: str, transcript: Transcript, symbols: Symbols = NO_SYMBOLS) -> Table:
    """`symbols` are those of the program that ran; they name the sampled addresses."""
    lines = [(_TIME.sub("_time", line.name), line) for line in transcript.measures]
    plain = [(name, line) for name, line in lines if _is_bucket(name)]
    names = tuple(dict.fromkeys((*BUCKETS, *(name for name, _ in plain))))
    of = {name: [line for other, line in plain if other == name] for name in names}
    locks = dict.fromkeys(match[1] for name, _ in lines if (match := _LOCK.match(name)))
    return Table(
        cell=cell,
        unit=transcript.unit,
        cpus=transcript.online,
        buckets={name: {phase: _over(name, of[name], phase) for phase in PHASES} for name in names},
        by_cpu={name: _by_cpu(of[name], transcript.online) for name in names},
        locks={lock: {phase: _lock(lines, lock, phase) for phase in PHASES} for lock in locks},
        threads=_threads(lines),
        samples=_samples([line for name, line in lines if name == _SAMPLE], symbols),
    )


def sampled_symbols(transcript: Transcript, symbols: Symbols) -> Symbols:
    """The symbols that contain a sample. With them `rejudge` makes the same table without the program."""
    values = [line.value for line in transcript.measures if line.name == _SAMPLE and line.value is not None]
    return symbols.containing(values)


def _is_bucket(name: str) -> bool:
    return name != _SAMPLE and not _THREAD.match(name) and not _LOCK.match(name)


def _over(name: str, lines: Sequence[AttributionBucket], phase: str) -> int | None:
    values = [line.value for line in lines if line.phase == phase]
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return max(known) if name.endswith("_max") else sum(known)


def _by_cpu(lines: Sequence[AttributionBucket], cpus: int) -> tuple[int | None, ...]:
    seen = {line.cpu: line.value for line in lines if line.phase == WHOLE}
    return tuple(seen.get(cpu) for cpu in range(cpus))


def _lock(lines: Sequence[tuple[str, AttributionBucket]], lock: str, phase: str) -> Lock:
    def share(which: str) -> int | None:
        name = f"lock_{lock}_{which}"
        return _over(name, [line for other, line in lines if other == name], phase)

    return Lock(share("takes"), share("wait_time"), share("hold_time"))


def _threads(lines: Sequence[tuple[str, AttributionBucket]]) -> tuple[Thread, ...]:
    times: dict[int, dict[str, int | None]] = {}
    cpus: dict[int, int | None] = {}
    for name, line in lines:
        if match := _THREAD.match(name):
            times.setdefault(int(match[1]), {})[match[2]] = line.value
            cpus[int(match[1])] = line.cpu
    parts = ("running", "runnable", "blocked", "lifetime")
    return tuple(
        Thread(number, cpus[number], *(times[number].get(part) for part in parts)) for number in sorted(times)
    )


def _samples(lines: Sequence[AttributionBucket], symbols: Symbols) -> Mapping[str, int]:
    result = Counter(symbols.name_of(line.value) or UNKNOWN for line in lines if line.value is not None)
    return dict(result.most_common())
