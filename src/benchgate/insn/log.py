"""The log of the instruction clock as types. insn/log_reader.py reads the file.

Takes the values of a clock's log; gives a frozen `ClockLog`. The log of a clock that refused the QEMU or got
stuck is still valid; `problem` says what happened. A log without an end is valid too (QEMU was killed after
the result): its `totals` are empty and `closed` is false. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from benchgate.base.runs import Disorder, Resolution
from benchgate.insn.activity import Activity
from benchgate.insn.counts import CountedCpu, Counts
from benchgate.insn.explore_log import StallLog
from benchgate.insn.memory_log import WINDOW, MemoryBooks
from benchgate.insn.operations import Children, ThreadOperations

CARRIERS = ("fsbase", "prctl", "threads")
"""How vCPUs are run (c/clock/carrier.h): on one thread of the host, whose context changes by an instruction
or by a system call; or on a thread each."""


class AccessOrder(StrEnum):
    """The treatment of accesses to memory that come in the wrong order."""

    UNSAID = ""
    """Nothing is done on the ideal machine; on others they are watched."""
    WATCH = "watch"
    """They are counted, and each keeps the vCPUs close together for a while."""
    STRICT = "strict"
    """They are prevented in the window: a vCPU runs one block at a time."""


class MarkKind(IntEnum):
    """The kinds of BENCH_MARK in guest/bench.h."""

    WORK_BEGIN = 1
    WORK_END = 2
    TOTAL_BEGIN = 3
    TOTAL_END = 4


@dataclass(frozen=True, slots=True)
class ClockMark:
    """One executed mark. `kind` is a plain number, so that an unknown kind can be read and then refused."""

    kind: int
    vcpu: int
    time: int


@dataclass(frozen=True, slots=True)
class VcpuTotals:
    """The parts of one vCPU's time, in ns. `executed` is also its number of instructions."""

    time: int
    executed: int
    paused: int
    """The time added by `pause` instructions, beyond one instruction each."""
    skipped: int
    """The time skipped in loops that spin on the TSC."""
    halted: int
    stalled: int = 0
    """The time for which it waited for the machine's memory, and what its instructions took beyond 1 ns each;
    0 on the ideal machine."""
    delayed: int = 0
    """The time for which an exploration stalled it."""


@dataclass(frozen=True, slots=True)
class VcpuWork:
    """The work that one vCPU had done at some moment."""

    ran: int = 0
    """The time for which it was not halted, in ns."""
    worked: int = 0
    """The number of executed instructions outside loops that only wait."""
    polled: int = 0
    """How many of these it executed in the loop in which this kernel's idle CPUs poll; 0 where the clock does
    not know that loop: nothing was typed, or QEMU is older than 9.1."""


@dataclass(frozen=True, slots=True)
class LateSightings:
    """What vCPUs had seen of each other too late, from the start to some moment."""

    handovers: int
    late: int
    """The upper bound on the sum of these delays."""
    pending: int = 0
    """The most by which `late` can still grow for what they have seen already."""

    def since(self, before: LateSightings) -> LateSightings:
        """The upper bound of what they saw too late after that moment."""
        return LateSightings(self.handovers - before.handovers, self.late + self.pending - before.late)


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """The end of one line of the guest's console."""

    end: int
    """How many bytes the console had at its end."""
    time: int
    vcpus: tuple[VcpuWork, ...]
    seen_late: LateSightings | None = None
    """The late sightings so far; None in logs of earlier versions."""
    counted: tuple[CountedCpu, ...] | None = field(default=None, compare=False)
    """What was counted of each vCPU so far; None if that is not known."""


@dataclass(frozen=True, slots=True)
class ConsoleInput:
    """Bytes that were typed at the guest's console at once."""

    console: int
    """How many bytes the console had at that time."""
    count: int
    time: int
    """The time at which the first byte arrived, unless earlier ones were still on their way."""
    pace: int
    """The time from one byte to the next, in ns."""


@dataclass(frozen=True, slots=True)
class TurnedClock:
    """From this time on other rules applied (run/moments.py)."""

    time: int
    seed: int
    quantum: int
    fine: int
    rush: int

    @property
    def option(self) -> str:
        """The value of the plugin's option `turn` with which a run does the same."""
        return f"{self.time}:{self.seed}:{self.quantum}:{self.fine}:{self.rush}"

    def is_of(self, asked: TurnedClock) -> bool:
        """Whether a clock that was asked for this turned so: at the first moment it can; 0 is as before."""
        asks = (asked.seed, asked.quantum, asked.fine, asked.rush)
        found = (self.seed, self.quantum, self.fine, self.rush)
        same = all(one in (0, other) for one, other in zip(asks[1:], found[1:], strict=True))
        return self.time >= asked.time and self.seed == asked.seed and same


@dataclass(frozen=True, slots=True)
class ClockLog:
    seed: int
    quantum: int
    """How many ns a vCPU may be ahead of the slowest one in the window."""
    fine: int
    """The same limit while a vCPU spins."""
    rush: int
    """Both limits are multiplied by this outside the window."""
    vcpus: int
    api: tuple[int, int, int]
    """The plugin interface version that was requested, then the oldest and the newest that QEMU offers."""
    marks: tuple[ClockMark, ...]
    lines: tuple[ConsoleLine, ...] = ()
    """The console's lines, which are logged only of a system without marks."""
    inputs: tuple[ConsoleInput, ...] = ()
    totals: tuple[VcpuTotals, ...] = ()
    activity: Activity | None = None
    """The activity; None in logs of earlier versions, and if the log has no end."""
    start: tuple[int, int] | None = None
    """The guest's time and the bytes on its console where it began from a snapshot; None if it booted."""
    machine: str = ""
    """The machine whose memory was modelled; empty for the ideal one, which has none."""
    capacities: tuple[int, ...] = ()
    """The speed of each vCPU, if its machine says it: 1024 / capacity ns an instruction."""
    memory: MemoryBooks | None = None
    """The machine's books; None on the ideal machine, and if the log has no end."""
    orders: Mapping[str, Disorder] = field(default_factory=dict)
    """Maps a phase to its disorder; empty if the order of accesses was not watched."""
    explored: StallLog | None = None
    """The stalls of vCPUs; None if the run was not explored."""
    counts: Counts | None = None
    """What programs and kernel did; None in logs of earlier versions, if the log has no end, and with a QEMU
    in which it cannot be counted."""
    operations: Mapping[str, tuple[ThreadOperations, ...]] = field(default_factory=dict)
    """Maps the name of a guest's histogram to what the machine itself measured of each thread at work; empty
    in logs of earlier versions, and if the log has no end."""
    children: tuple[Children, ...] = ()
    """Of each thread at work; empty in logs of earlier versions, and if it is not known."""
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    """Maps the histograms that the machine could not measure, although it was asked to, to the reason."""
    turned: tuple[TurnedClock, ...] = ()
    end: int | None = None
    checks: Mapping[str, int] = field(default_factory=dict)
    """Self-check counters; a run repeats them exactly."""
    carrier: str = ""
    """How the vCPUs were run (c/clock/carrier.h); empty in logs of earlier versions."""
    host: Mapping[str, int] = field(default_factory=dict)
    """Counters that also depend on how the host scheduled threads."""
    refused: str = ""
    stuck: tuple[str, ...] = ()
    flooded: bool = False
    closed: bool = False

    def first_mark(self, *kinds: MarkKind) -> int | None:
        """The time of the first mark of one of these kinds; None if there is none."""
        return next((mark.time for mark in self.marks if mark.kind in kinds), None)

    @property
    def problem(self) -> str:
        """Why this run has no result; empty if it has one."""
        if self.refused:
            return f"the instruction clock refused this QEMU: {self.refused}"
        if self.stuck:
            return f"the lockstep was stuck: {'; '.join(self.stuck)}"
        if self.flooded:
            return "the guest executed more marks than the clock's log can hold"
        return ""

    @property
    def resolution(self) -> Resolution | None:
        """The window's resolution; None without totals, or from a clock that did not count hand-overs."""
        names = ("longest", "handovers", "late")
        found = [self.checks[name] for name in names if name in self.checks]
        if len(found) < len(names):
            return None
        step, handovers, late = found
        return Resolution(step, handovers, late, order=self.orders.get(WINDOW))

    @property
    def repeatable(self) -> tuple[object, ...]:
        """Everything that must be equal in two runs of one seed."""
        counted = (
            *(self.marks, self.lines, self.inputs, self.totals, self.end, dict(self.checks)),
            None if self.activity is None else self.activity.repeatable,
            *(self.start, self.machine, self.capacities, self.memory, dict(self.orders), self.explored),
            None if self.counts is None else self.counts.repeatable,
            self.turned,
        )
        return (self.seed, *counted)
