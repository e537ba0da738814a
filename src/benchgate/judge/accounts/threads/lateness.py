"""Explains why threads waited: behind whom, which CPUs idled meanwhile, and what ended it.

Takes a `Schedule`; gives its waits. Pure; nothing fails.

A wait lasts from the call that wakes the thread, or from the preemption, to the switch to the thread; it
goes on while the thread is moved to another CPU's queue. A thread whose CPU is halted waits, too. What lies
outside of the window is cut off.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchgate.insn.threads_log import IDLE
from benchgate.judge.accounts.threads.books import ThreadWait
from benchgate.judge.accounts.threads.schedule import WAITING, CpuRun, Phase, Schedule, ThreadLife


@dataclass(frozen=True, slots=True)
class PlainWait:
    """A wait without its explanation."""

    life: int
    begin: int
    end: int
    first: int
    """The first of its runnable phases."""
    last: int

    @property
    def length(self) -> int:
        return self.end - self.begin


def find_waits(schedule: Schedule) -> list[PlainWait]:
    """All waits of the window, by length, the longest first."""
    waits = [wait for place, life in enumerate(schedule.lives) for wait in _of_life(schedule, place, life)]
    return sorted(waits, key=lambda wait: (-wait.length, wait.begin, wait.life))


def _of_life(schedule: Schedule, place: int, life: ThreadLife) -> Iterator[PlainWait]:
    begin, end = schedule.begin, schedule.end
    first: int | None = None
    for at, phase in enumerate(life.phases):
        if phase.state not in WAITING:
            continue
        first = at if first is None else first
        if at + 1 < len(life.phases) and life.phases[at + 1].state in WAITING:
            continue
        since, until = life.phases[first].begin, life.end_of(at, end)
        if begin <= since < end or since < begin < until:
            yield PlainWait(place, max(since, begin), until, first, at)
        first = None


def explain_waits(schedule: Schedule, waits: Sequence[PlainWait]) -> tuple[ThreadWait, ...]:
    return tuple(map(_Explainer(schedule).explained, waits))


class _Explainer:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.begins = [[run.begin for run in runs] for runs in schedule.runs]

    def explained(self, wait: PlainWait) -> ThreadWait:
        life = self.schedule.lives[wait.life]
        following = life.phases[wait.last + 1] if wait.last + 1 < len(life.phases) else None
        ended = following if following and following.begin <= self.schedule.end else None
        cpu = life.phases[wait.last].cpu
        mine = life.phases[wait.first : wait.last + 1]
        return ThreadWait(
            thread=life.thread,
            cpu=cpu,
            begin=wait.begin,
            end=wait.end,
            wake=next((phase.wake for phase in mine if phase.wake), None),
            lost=life.phases[wait.first].cause,
            behind=self._behind(life, wait),
            idle_cpus=self._idle_cpus(life, wait),
            ended=ended.cause if ended else None,
            unqueued=sum(
                end - begin for phase, begin, end in self._parts(life, wait) if phase.state == "unqueued"
            ),
        )

    def _overlap(self, cpu: int, begin: int, end: int) -> Iterator[tuple[CpuRun, int]]:
        """The runs of a CPU between two times, each with how long it ran there."""
        runs = self.schedule.runs[cpu]
        for at in range(max(bisect_right(self.begins[cpu], begin) - 1, 0), len(runs)):
            if runs[at].begin >= end:
                return
            length = min(runs[at].end, end) - max(runs[at].begin, begin)
            if length > 0:
                yield runs[at], length

    def _parts(self, life: ThreadLife, wait: PlainWait) -> Iterator[tuple[Phase, int, int]]:
        """The queues on which the thread waited, each with the time from which and until when."""
        for place in range(wait.first, wait.last + 1):
            begin, end = max(life.phases[place].begin, wait.begin), life.end_of(place, wait.end)
            if begin < end:
                yield life.phases[place], begin, end

    def _behind(self, life: ThreadLife, wait: PlainWait) -> tuple[tuple[int, int], ...]:
        ran: Counter[int] = Counter()
        for phase, begin, end in self._parts(life, wait):
            for run, length in self._overlap(phase.cpu, begin, end) if phase.state == "runnable" else ():
                if run.thread not in (IDLE, life.thread):
                    ran[run.thread] += length
        return tuple(sorted(ran.items(), key=lambda item: (-item[1], item[0])))

    def _idle_cpus(self, life: ThreadLife, wait: PlainWait) -> tuple[tuple[int, int], ...]:
        idle: Counter[int] = Counter()
        for phase, begin, end in self._parts(life, wait):
            for cpu in range(self.schedule.vcpus):
                is_own = cpu == phase.cpu and phase.state == "runnable"
                if not is_own and may_run(self.schedule, life, cpu, begin):
                    begun = max(begin, self.schedule.online[cpu])
                    for run, length in self._overlap(cpu, begun, end):
                        idle[cpu] += length if run.thread == IDLE else 0
        return tuple(sorted((cpu, length) for cpu, length in idle.items() if length))


def may_run(schedule: Schedule, life: ThreadLife, cpu: int, time: int) -> bool:
    mask = (1 << schedule.vcpus) - 1
    for since, cpus in life.masks:
        if since > time:
            break
        mask = cpus
    return bool(mask >> cpu & 1)
