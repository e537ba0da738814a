"""The types of the books of threads: what a run's schedule was, within its window.

Frozen data; nothing fails. `accounting.thread_books` makes them. All times are of the
guest, in ns since its first instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

WaitEnd = Literal["block", "preemption", "exit", "migration", "idle", "close"]
"""What made room for a thread that waited. The one that ran before it blocked, was preempted (or yielded), or
exited; the thread was moved to another CPU and was the next to run there; the CPU was idle, so only the
switch itself took time; `close`: it still waits when the window closes."""


@dataclass(frozen=True, slots=True)
class ThreadBook:
    """One thread: running + runnable + blocked = end - begin, to the nanosecond."""

    thread: int
    """The guest's id. Two books have the same one if the guest gave it to another thread later."""
    name: str
    """The last one seen in the window; empty if none was."""
    begin: int
    """When it was made, or when the window opened if that is later."""
    end: int
    """When it died, or when the window closed."""
    running: int
    runnable: int
    """It waited for a CPU."""
    blocked: int
    """The time from its making to its first wake-up counts, too."""
    running_by_cpu: tuple[int, ...]
    switches: int
    """How often a CPU switched from it to another."""
    wakeups: int
    preemptions: int
    """How often a CPU switched from it although it could have gone on: it was preempted or yielded."""
    migrations: int
    """How often it came to a CPU other than its last one, be it while it waited or by a wake-up."""
    woken_by: tuple[tuple[int, int], ...]
    """(the thread that ran where it was woken, how often), the most frequent first. 0 is an idle CPU: an
    interrupt woke it."""


@dataclass(frozen=True, slots=True)
class CpuBook:
    """One CPU: running + idle = the window, to the nanosecond."""

    cpu: int
    running: int
    idle: int
    wasted: int
    """The part of `idle` in which a thread that may run here waited elsewhere."""
    longest_wasted: int
    switches: int


@dataclass(frozen=True, slots=True)
class ThreadSlice:
    """From `begin` to `end` one thread is in one state."""

    thread: int
    cpu: int
    """Where it runs or waits; where it ran last if it is blocked."""
    begin: int
    end: int
    state: Literal["running", "runnable", "blocked"]


@dataclass(frozen=True, slots=True)
class ThreadWake:
    time: int
    waker: int
    """The thread that ran on the waking CPU; 0: it was idle, and an interrupt woke the thread."""
    waker_cpu: int
    thread: int
    cpu: int
    """On whose queue the thread was put."""
    trail: tuple[int, ...]
    """Return addresses from the waker's stack, innermost first."""
    sent: int = 0
    """When the waker left it to another CPU, by the time of its own; 0: it did not."""


@dataclass(frozen=True, slots=True)
class QueueStep:
    """From `time` on, `length` threads run or wait on this CPU."""

    cpu: int
    time: int
    length: int


@dataclass(frozen=True, slots=True)
class WastedStretch:
    """A CPU idles while threads wait elsewhere (idleness.py has the rule)."""

    cpu: int
    """The idle one."""
    begin: int
    end: int
    threads: tuple[int, ...]
    """Those that waited: for wasted time the ones that may run here. At most idleness.MOST_THREADS."""
    wake: ThreadWake | None
    """The wake-up from which the first of them waited; None if it had been preempted."""
    is_pinned: bool
    """True if none of them may run here; such a stretch is in `ThreadBooks.excused`."""


@dataclass(frozen=True, slots=True)
class WastedTime:
    """CPU time that was idle while a thread that may run there waited elsewhere."""

    time: int
    """Of all CPUs together, in ns."""
    wasted: int
    longest: int
    stretches: int
    excused: int
    """Idle time, in ns, while every thread that waited was bound to other CPUs."""

    @property
    def share(self) -> float:
        return self.wasted / self.time if self.time else 0.0


@dataclass(frozen=True, slots=True)
class ThreadWait:
    """A thread could have run, from `begin` to `end`, and did not."""

    thread: int
    cpu: int
    """Where it waited at the end."""
    begin: int
    end: int
    wake: ThreadWake | None
    """None: it was preempted."""
    behind: tuple[tuple[int, int], ...]
    """(thread, for how many ns it ran on the CPU where this one waited), the longest first."""
    idle_cpus: tuple[tuple[int, int], ...]
    """(another CPU where it might have run, for how many ns that was idle), in the order of the CPUs."""
    ended_by: WaitEnd
    after: int
    """The thread that ran on that CPU before it; 0 if it was idle, or if the thread still waits."""

    @property
    def length(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class ThreadBooks:
    vcpus: int
    begin: int
    end: int
    """The window; without marks the whole run, and no longer than the record."""
    is_cut: bool
    """True if the record became full before the window closed."""
    threads: tuple[ThreadBook, ...]
    """In the order of their ids. A thread without any time in the window has no book, and idle has none."""
    cpus: tuple[CpuBook, ...]
    slices: tuple[ThreadSlice, ...]
    """By thread in the order of `threads`, then by time."""
    wakes: tuple[ThreadWake, ...]
    queues: tuple[QueueStep, ...]
    """By time. Each CPU has a step where the window begins."""
    wasted: tuple[WastedStretch, ...]
    """By time."""
    excused: tuple[WastedStretch, ...]
    """A CPU idles, and every thread that waits elsewhere is pinned there."""
    waits: tuple[ThreadWait, ...]
    """The longest first; at most accounting.MOST_WAITS."""
    wait_lengths: tuple[int, ...]
    """The length of every wait of the window, the shortest first."""
    longest_waits: Mapping[int, int] = field(default_factory=dict)
    """The longest wait of each thread that waited in the window, by its id."""
