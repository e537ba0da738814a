"""What each thread and each CPU did in a run, as the record of threads says.

Types only: repeating.py fills them from the events. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from benchgate.insn.threads_log import IDLE
from benchgate.judge.accounts.threads.books import SwitchCause, ThreadWake

State = Literal["running", "runnable", "unqueued", "blocked", "dead"]
"""`unqueued`: the kernel was told to wake the thread, which is on no queue yet."""
WAITING: frozenset[State] = frozenset({"runnable", "unqueued"})


@dataclass(frozen=True, slots=True)
class Phase:
    """From `begin` to the next phase's begin, a thread is in one state."""

    begin: int
    state: State
    cpu: int
    wake: ThreadWake | None = None
    """The wake-up that made it runnable."""
    cause: SwitchCause | None = None
    """Of a running phase: what ended the wait before it. Of a runnable one: how it lost its CPU."""
    is_halted: bool = False
    """The thread is its CPU's, and the CPU is halted: it waits there, and on no queue."""


@dataclass(frozen=True, slots=True)
class Move:
    time: int
    origin: int
    mover: int
    """The CPU that did it."""
    switches: int
    """How often the new CPU had switched by then."""


@dataclass(slots=True)
class ThreadLife:
    """One thread from its making to its death. It is filled while the events are repeated."""

    thread: int
    phases: list[Phase]
    names: list[tuple[int, str]] = field(default_factory=list)
    """(time, name)."""
    masks: list[tuple[int, int]] = field(default_factory=list)
    """(time, mask of the CPUs where it may run from then on); at first on all."""
    leaves: list[tuple[int, bool]] = field(default_factory=list)
    """(time, whether it could have gone on) of each switch from it."""
    wakes: list[ThreadWake] = field(default_factory=list)
    moves: list[tuple[int, int, int]] = field(default_factory=list)
    """(time, from, to)."""
    yields: list[int] = field(default_factory=list)
    """When it gave way and a CPU switched from it."""
    last_cpu: int | None = None
    """Where it ran or waited last; None: nowhere yet."""
    moved: Move | None = None
    """The last move while it waited."""
    exits_at: int | None = None

    @property
    def now(self) -> Phase:
        return self.phases[-1]

    def end_of(self, place: int, latest: int) -> int:
        """When a phase ends: with the next one, or at `latest`."""
        return min(self.phases[place + 1].begin, latest) if place + 1 < len(self.phases) else latest

    def within(self, begin: int, end: int) -> Iterator[tuple[int, Phase, int, int]]:
        """The phases between two times: place, phase, and from when until when it lasts there."""
        for place, phase in enumerate(self.phases):
            since, until = max(phase.begin, begin), self.end_of(place, end)
            if since < until:
                yield place, phase, since, until


@dataclass(frozen=True, slots=True)
class CpuRun:
    """A CPU runs one thread, or none (IDLE): it is idle while it is halted, too, whatever thread it has."""

    begin: int
    end: int
    thread: int


@dataclass(frozen=True, slots=True)
class KernelStay:
    """A CPU executed the kernel, with this thread, and no program."""

    cpu: int
    thread: int
    begin: int
    end: int
    spun: int
    """Of it: in loops that can do nothing but wait."""
    count: int
    """As in `StayEvent`."""
    is_interruption: bool
    """The program had not asked for it."""
    is_exit: bool
    """The thread exited in it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    vcpus: int
    begin: int
    end: int
    """The window."""
    is_cut: bool
    lives: tuple[ThreadLife, ...]
    runs: tuple[tuple[CpuRun, ...], ...]
    """By CPU, from 0 to the window's end or the CPU's last event, by the CPU's own time."""
    switches: tuple[tuple[int, ...], ...]
    """By CPU: when it switched."""
    lengths: tuple[tuple[int, int, int], ...]
    """(time, CPU, how many threads run or wait there), by time."""
    online: tuple[int, ...]
    """By CPU: from when it counts as a CPU that could run something."""
    halted: tuple[tuple[int, int | None], ...] | None = None
    """By CPU: for how long it was halted, and since when it is at the end of the record; None: its halts were
    not recorded."""
    stays: tuple[KernelStay, ...] | None = None
    """Those that were long enough to be recorded, by the time of their end; None: they were not recorded."""
    has_interruptions: bool = False
    """Whether it is known which stays were interruptions."""

    def thread_at(self, cpu: int, time: int) -> int:
        """The thread that runs on this CPU at this time of its own; IDLE if none does."""
        return next((run.thread for run in self.runs[cpu] if run.begin <= time < run.end), IDLE)
