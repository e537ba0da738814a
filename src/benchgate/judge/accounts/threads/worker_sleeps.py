"""Which thread each worker is, for how long it slept in its work, and how soon it ran when woken.

Takes a `Schedule`, the clock's log with the marks of the work, and what the workers report; gives
`WorkerSleeps`, or None where the record does not tell. Pure; nothing fails.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchgate.base.runs import VerifiedRun, WorkerReport
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.insn.log import ClockLog, ClockMark, MarkKind
from benchgate.insn.threads_log import IDLE
from benchgate.judge.accounts.threads.books import ThreadWake
from benchgate.judge.accounts.threads.schedule import Phase, Schedule, ThreadLife

NEAR_NS = 5_000
"""By so much the guest's clock may differ from the instructions over a window."""
CERTAIN_NS = 100_000
"""A worker is one thread only if no other one's marks are nearly as near to the times that it reports."""
GENERIC = 3
"""So many of the innermost addresses of a trail are of the scheduler's own, whoever woke the thread."""


@dataclass(frozen=True, slots=True)
class WokenWait:
    """A worker woke another one: when, and how long it took until that ran."""

    time: int
    length: int


@dataclass(frozen=True, slots=True)
class ThreadSleeps:
    """What one thread did between its marks."""

    life: ThreadLife
    begin: ClockMark
    end: ClockMark
    lengths: tuple[int, ...]
    """From when it blocked to when it ran again."""
    wakes: tuple[tuple[ThreadWake, int], ...]
    """Each wake-up, and when it ran."""


@dataclass(frozen=True, slots=True)
class WorkerSleeps:
    of_worker: Mapping[int, tuple[ThreadSleeps, ...]]
    """By worker: the threads that it may be."""
    each: tuple[ThreadSleeps, ...]
    """The threads of all workers, by the order of their ends."""
    interrupts: frozenset[int]
    """Addresses on the stacks of interrupts that woke a thread."""

    def count(self, workers: Collection[int]) -> int:
        return sum(min(len(sleeps.lengths) for sleeps in some) for some in self._of(workers))

    def sum(self, workers: Collection[int]) -> int:
        return sum(min(sum(sleeps.lengths) for sleeps in some) for some in self._of(workers))

    def longest(self, workers: Collection[int]) -> int:
        result = (min(max(sleeps.lengths, default=0) for sleeps in some) for some in self._of(workers))
        return max(result, default=0)

    @property
    def waits(self) -> tuple[tuple[WokenWait, ...], ...] | None:
        """By thread: for how long it waited after each wake-up by another worker. None: the record does not
        say what the guest had read from its clock.

        Whatever time the waker wrote down before, the guest had read it by then: on any of its CPUs, because
        it is shown no time that is before one that it has seen, even where this CPU is behind another."""
        waits = []
        for thread in self.each:
            woken = [(wake.read, ran) for wake, ran in thread.wakes if self._is_by_worker(wake)]
            known = [WokenWait(read, max(0, ran - read)) for read, ran in woken if read is not None]
            if len(known) < len(woken):
                return None
            waits.append(tuple(known))
        return tuple(waits)

    def _of(self, workers: Collection[int]) -> Iterator[tuple[ThreadSleeps, ...]]:
        return (some for worker in workers if (some := self.of_worker.get(worker, ())))

    def _is_by_worker(self, wake: ThreadWake) -> bool:
        """An interrupt may come while a worker runs, and wake another thread."""
        mine = (sleeps.life.thread for sleeps in self.each)
        return wake.waker in mine and self.interrupts.isdisjoint(wake.trail[GENERIC:])


def worker_sleeps(schedule: Schedule, log: ClockLog, run: VerifiedRun) -> WorkerSleeps | None:
    if schedule.is_cut or not run.hz or not run.workers:
        return None
    threads = list(_threads(schedule, log))
    shift = _shift(run, log, run.hz)
    may_be = {worker.id: _may_be(worker, threads, run.hz, shift) for worker in run.workers}
    by_interrupts = (wake for life in schedule.lives for wake in life.wakes if wake.waker == IDLE)
    places = frozenset(address for wake in by_interrupts for address in wake.trail[GENERIC:])
    return WorkerSleeps(may_be, tuple(threads), places)


def _threads(schedule: Schedule, log: ClockLog) -> Iterator[ThreadSleeps]:
    """The threads that executed the marks of the work."""
    begun: dict[int, ClockMark] = {}
    for mark in log.marks:
        if mark.kind not in (MarkKind.WORK_BEGIN, MarkKind.WORK_END):
            continue
        thread = schedule.thread_at(mark.vcpu, mark.time)
        if mark.kind == MarkKind.WORK_BEGIN:
            begun[thread] = mark
        elif begin := begun.pop(thread, None):
            mine = [life for life in schedule.lives if life.thread == thread and _lives(life, begin.time)]
            yield from (_slept(life, begin, mark) for life in mine)


def _lives(life: ThreadLife, time: int) -> bool:
    return life.phases[0].begin <= time and not (life.now.state == "dead" and life.now.begin < time)


def _slept(life: ThreadLife, begin: ClockMark, end: ClockMark) -> ThreadSleeps:
    lengths, wakes = [], []
    for since, wake, ran in _sleeps(life.phases):
        if begin.time <= since and ran <= end.time:
            lengths.append(ran - since)
            wakes += [] if wake is None else [(wake, ran)]
    return ThreadSleeps(life, begin, end, tuple(lengths), tuple(wakes))


def _sleeps(phases: Iterable[Phase]) -> Iterator[tuple[int, ThreadWake | None, int]]:
    """When it blocked, who woke it, and when it ran again."""
    since: int | None = None
    wake: ThreadWake | None = None
    for phase in phases:
        if phase.state == "blocked":
            since, wake = phase.begin, None
        elif phase.state == "runnable":
            wake = wake or phase.wake
        elif phase.state == "running":
            if since is not None:
                yield since, wake, phase.begin
            since = None


def _shift(run: VerifiedRun, log: ClockLog, hz: int) -> Fraction:
    """How far the guest's clock is ahead of the instruction clock: it is read just after a mark."""
    ticks = Fraction(SECOND_NS, hz)
    begins = [mark.time for mark in log.marks if mark.kind == MarkKind.WORK_BEGIN]
    ends = [mark.time for mark in log.marks if mark.kind == MarkKind.WORK_END]
    starts = [worker.start * ticks for worker in run.workers]
    stops = [worker.end * ticks for worker in run.workers]
    pairs = ((starts, begins), (stops, ends))
    return min(edge(times) - edge(marks) for edge in (min, max) for times, marks in pairs)


def _may_be(
    report: WorkerReport, threads: Sequence[ThreadSleeps], hz: int, shift: Fraction
) -> tuple[ThreadSleeps, ...]:
    times = [int(Fraction(time * SECOND_NS, hz) - shift) for time in (report.start, report.end)]
    same = [
        thread for thread in threads if (thread.begin.vcpu, thread.end.vcpu) == (report.cpu, report.cpu_end)
    ]
    near = [
        sleeps
        for sleeps in same
        if all(
            _reads(sleeps.life, mark, time)
            for mark, time in zip((sleeps.begin, sleeps.end), times, strict=True)
        )
    ]
    close = sorted(near or same or threads, key=lambda sleeps: _off(sleeps, times))
    return tuple(sleeps for sleeps in close if _off(sleeps, times) <= _off(close[0], times) + CERTAIN_NS)


def _reads(life: ThreadLife, mark: ClockMark, time: int) -> bool:
    """Whether the thread may have read its clock at this time, after this mark."""
    around = life.within(time - NEAR_NS, time + NEAR_NS)
    return mark.time <= time + NEAR_NS and any(phase.state == "running" for _, phase, _, _ in around)


def _off(sleeps: ThreadSleeps, times: Sequence[int]) -> int:
    return abs(sleeps.begin.time - times[0]) + abs(sleeps.end.time - times[1])
