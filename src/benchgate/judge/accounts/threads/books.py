"""The types of the books of threads: what a run's schedule was, within its window.

Frozen data; nothing fails. `accounting.thread_books` makes them. All times are of the
guest, in ns since its first instruction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from benchgate.base.jsonfields import As

SwitchReason = Literal[
    "block", "exit", "yield", "tick", "wakeup", "preemption", "steal", "push", "idle", "halt"
]
"""Why a CPU went from one thread to the next. The thread before blocked, exited, or gave way (`yield`); or it
could have gone on, and the last thing seen of this CPU while it ran was a `tick` or that a thread was woken
on its queue (`wakeup`); `preemption`: neither was seen, or the guest's ticks are not observed. The next
thread was moved here while it waited, and nothing else ran here since: this CPU took it (`steal`), or another
one brought it (`push`). `idle`: the CPU was idle, so only the switch itself took time. `halt`: the
CPU was halted while it had the thread, and went on with it."""
WaitBegin = Literal[
    "woken here", "woken elsewhere", "started", "moved", "preempted", "yielded", "halted", "unqueued"
]
"""How a wait began. `woken here`: it was queued on the CPU of its waker, or of the interrupt that woke it;
`started`: it is new; `moved`: it was put on the queue of a CPU that ran another one; `halted`: its CPU was
halted while it had it; `unqueued`: the kernel was told to wake it, and it is on no queue."""
Distance = Literal["near", "clusters", "sockets"]
"""How far a thread is moved on a machine with memory: within a cluster, to another cluster of the socket, to
another socket or node."""
DISTANCES: tuple[Distance, ...] = get_args(Distance)


@dataclass(frozen=True, slots=True)
class SwitchCause:
    """Why a CPU went from one thread to the next."""

    kind: SwitchReason
    time: int
    """When the tick, the wake-up, the yield or the move was; otherwise when the CPU switched."""
    before: int
    """The thread that ran there before; 0: it was idle."""
    woken: int = 0
    """With `wakeup`: the thread that was woken; otherwise 0."""
    origin: int | None = None
    """With `steal` and `push`: the CPU that it came from."""
    mover: int | None = None
    """With `steal` and `push`: the CPU that moved it."""


@dataclass(frozen=True, slots=True)
class BookPhase:
    """A part of the window."""

    name: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class PhaseBook:
    """What one thread did in one phase."""

    phase: str
    running: int
    runnable: int
    blocked: int
    by_cpu: tuple[tuple[int, int, int], ...]
    """(CPU, for how long it ran there, for how long it waited there), without CPUs where it did neither."""
    unqueued: int = 0


@dataclass(frozen=True, slots=True)
class CpuPhase:
    """What one CPU did in one phase."""

    phase: str
    running: int
    idle: int
    wasted: int


@dataclass(frozen=True, slots=True)
class ThreadBook:
    """One thread: running + runnable + unqueued + blocked = end - begin, to the nanosecond."""

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
    by_phase: tuple[PhaseBook, ...]
    """The same for each phase in which it lived; together they are the whole."""
    switches: int
    """How often a CPU switched from it to another."""
    wakeups: int
    preemptions: int
    """How often a CPU switched from it although it could have gone on, without `yields`."""
    yields: int
    """How often it gave way and a CPU switched from it; 0 if the guest's yields are not observed."""
    migrations: int
    """How often it came to a CPU other than its last one, be it while it waited or by a wake-up."""
    moves: Mapping[Distance, int] | None
    """The migrations by distance; None on the ideal machine, where all CPUs are equally near."""
    woken_by: tuple[tuple[int, int], ...]
    """(the thread that ran where it was woken, how often), the most frequent first. 0 is an idle CPU: an
    interrupt woke it."""
    unqueued: int = 0
    """The kernel had been told to wake it, and it was on no queue."""
    role: str = ""
    """Its role in the workload (roles.py); empty if it is none of the workers."""
    worker: int | None = None
    """The worker's number."""

    @property
    def label(self) -> str:
        """Its name in every view: that of the worker that it is, or the guest's own; empty if it has none."""
        return self.name if self.worker is None else f"{self.role} {self.worker}"


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
    by_phase: tuple[CpuPhase, ...]


@dataclass(frozen=True, slots=True)
class ThreadSlice:
    """From `begin` to `end` one thread is in one state."""

    thread: int
    cpu: int
    """Where it runs or waits; where it ran last if it is blocked."""
    begin: int
    end: int
    state: Literal["running", "runnable", "unqueued", "blocked"]


def _addresses(texts: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(text, 16) for text in texts)


def _texts(addresses: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"{address:#x}" for address in addresses)


@dataclass(frozen=True, slots=True)
class ThreadWake:
    time: int
    waker: int
    """The thread that ran on the waking CPU; 0: it was idle, and an interrupt woke the thread."""
    waker_cpu: int
    thread: int
    cpu: int
    """On whose queue the thread was put."""
    trail: Annotated[tuple[int, ...], As(tuple[str, ...], _addresses, _texts)]
    """Return addresses from the waker's stack, innermost first; in JSON as text."""
    sent: int = 0
    """When the waker left it to another CPU, by the time of its own; 0: it did not."""
    read: int | None = None
    """The latest time that the guest had read from its clock when the waker asked; None: not recorded."""


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
    """The wake-up from which the first of them waited; None if it was not woken."""
    is_pinned: bool
    """True if none of them may run here; such a stretch is in `ThreadBooks.excused`."""
    began: WaitBegin = "woken here"
    """How the wait of the first of them began."""


@dataclass(frozen=True, slots=True)
class HeldStretch:
    """A CPU was in the kernel for long, while threads waited that may run there (kernel_stays.py)."""

    cpu: int
    begin: int
    end: int
    holder: int
    """The thread that the CPU had."""
    stay: int
    """For how long it was in the kernel in all."""
    threads: tuple[int, ...]
    """Those that waited."""


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
    settling: int = 0
    """Idle time, in ns, until threads that were just woken came to their CPU: idleness.SETTLE at most each
    time, and not charged."""
    settled: int = 0
    """How often."""
    held: int = 0
    """CPU time, in ns, that a kernel held while a thread waited that may run there, during the work."""
    working: int = 0
    """Of all CPUs together, in ns, during the work; the whole window if it has no such phase."""

    @property
    def share(self) -> float:
        return self.wasted / self.time if self.time else 0.0

    @property
    def held_share(self) -> float:
        return self.held / self.working if self.working else 0.0


@dataclass(frozen=True, slots=True)
class ThreadWait:
    """A thread could have run, from `begin` to `end`, and did not."""

    thread: int
    cpu: int
    """Where it waited at the end."""
    begin: int
    end: int
    wake: ThreadWake | None
    """None: it lost its CPU."""
    lost: SwitchCause | None
    """How it lost its CPU; None: it was woken, or waited before the record began."""
    behind: tuple[tuple[int, int], ...]
    """(thread, for how many ns it ran on the CPU where this one waited), the longest first."""
    idle_cpus: tuple[tuple[int, int], ...]
    """(another CPU where it might have run, for how many ns that was idle), in the order of the CPUs."""
    ended: SwitchCause | None
    """What made room; None: it still waits when the window closes."""
    unqueued: int = 0
    """For how long it was on no queue although the kernel had been told to wake it."""

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
    phases: tuple[BookPhase, ...]
    """By time; together they are the window."""
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
    settles: tuple[int, ...] = ()
    """How long it took each time until a thread came to its idle CPU, in ns: idleness.SETTLE at most."""
    held: tuple[HeldStretch, ...] = ()
    """By time."""
    has_stays: bool = True
    """False: an earlier version did not record for how long CPUs were in the kernel, and nothing is held."""
    has_interruptions: bool = True
    """False: an earlier version did not tell them, and the whole window counted for what is held."""
    has_halts: bool = True
    """False: an earlier version did not record them, and what settles had 100 us."""
    longest_waits: Mapping[int, int] = field(default_factory=dict)
    """The longest wait of each thread that waited in the window, by its id."""
