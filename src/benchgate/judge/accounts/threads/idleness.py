"""Finds where CPUs idled although threads waited: the work conservation of a schedule.

Takes a `Schedule`; gives stretches of wasted and of excused time, by time. `SchedulePauses` works them out
once, with the waits of lateness.py, whoever asks. Pure; nothing fails.

The rule. A thread waits if it is runnable and the CPU on whose queue it stands runs another one. A CPU is
free if it is idle and nothing stands on its own queue. A free CPU's time is wasted while a thread waits
that may run there, and excused while threads wait of which none may run there. If one thread waits and
seven CPUs are free, the time of all seven counts: each of them might have run it. A CPU that the clock says
is halted is idle, and the thread that it has stands on its queue.

A thread on the queue of an idle CPU does not wait in this sense: it will run there next, and the wake-up
takes its time. Nor does one that the kernel was just told to wake, and that is on no queue yet. If that takes
longer than SETTLE, the wake-up was lost or is too late: from then on the thread waits like any other, and its
own CPU is free. What it took until then is told as well: it is idle time that nobody is charged with. A
thread has SETTLE from the begin of its wait: not again when it is moved, or when its CPU idles later. One
that had lost its CPU, or that its CPU was halted with, has none, because nobody woke it.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from benchgate.base.workload.metrics import MOST_SETTLING
from benchgate.insn.threads_log import IDLE
from benchgate.judge.accounts.threads.books import HeldStretch, ThreadWake, WaitBegin, WastedStretch
from benchgate.judge.accounts.threads.kernel_stays import find_held
from benchgate.judge.accounts.threads.lateness import PlainWait, find_waits
from benchgate.judge.accounts.threads.schedule import WAITING, Schedule, ThreadLife

SETTLE = MOST_SETTLING
SETTLE_BEFORE = 100_000
"""The same of records without the halts of the clock, whose sessions were judged by it."""
MOST_THREADS = 64
"""A stretch names at most so many threads."""


@dataclass(frozen=True, slots=True)
class Idleness:
    wasted: tuple[WastedStretch, ...]
    excused: tuple[WastedStretch, ...]
    settles: tuple[int, ...]
    """How long it took each time until a thread came to its idle CPU, up to SETTLE."""


def find_idleness(schedule: Schedule) -> Idleness:
    sweep = _IdleSearch(schedule)
    sweep.run()
    by_time = sorted(sweep.found, key=lambda stretch: (stretch.begin, stretch.cpu))
    wasted = tuple(stretch for stretch in by_time if not stretch.is_pinned)
    excused = tuple(stretch for stretch in by_time if stretch.is_pinned)
    return Idleness(wasted, excused, tuple(sweep.settles))


@dataclass(slots=True)
class _QueuedThread:
    """A runnable thread on a queue, or on its way there."""

    thread: int
    life: int
    cpu: int | None
    """None: it is on no queue yet."""
    wake: ThreadWake | None
    began: WaitBegin
    is_late: bool = False
    """It stands on the queue of an idle CPU, or on none, for longer than SETTLE."""
    settles_since: int | None = None
    """Since when it is about to run on its idle CPU, or to come to a queue although a CPU is idle."""


@dataclass(slots=True)
class _OpenStretch:
    begin: int
    wake: ThreadWake | None
    began: WaitBegin
    is_pinned: bool
    threads: dict[int, None] = field(default_factory=dict)

    def add(self, thread: int) -> None:
        if len(self.threads) < MOST_THREADS:
            self.threads[thread] = None


_LEAVE, _MASK, _QUEUE, _IDLE, _RUN = range(5)
"""The kinds of changes."""
_Change = tuple[int, int, int, int]
"""(time, kind, CPU or place of the life, place of the phase or mask)."""


class _IdleSearch:
    """Goes through the window by time; knows at each instant who is queued where and which CPU is idle."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.begin, self.end = schedule.begin, schedule.end
        self.masks = [(1 << schedule.vcpus) - 1] * len(schedule.lives)
        self.queued: dict[int, _QueuedThread] = {}
        """By the place of the life."""
        self.on: list[dict[int, _QueuedThread]] = [{} for _ in range(schedule.vcpus)]
        """The same by CPU."""
        self.idle: dict[int, int] = {}
        """For each idle CPU how many changes came before it became idle."""
        self.waiting: dict[int, _QueuedThread] = {}
        """Those in `queued` that wait."""
        self.waiting_by_mask: Counter[int] = Counter()
        """How many of them may run on the CPUs of each mask."""
        self.deadlines: list[tuple[int, int, _QueuedThread, int | None]] = []
        """(time, a number of its own, the thread, since when its CPU idles as in `idle`, if it has one)."""
        self.stretches: dict[int, _OpenStretch] = {}
        """By CPU."""
        self.found: list[WastedStretch] = []
        self.settles: list[int] = []
        self.until: dict[int, int] = {}
        """By the place of the life: when SETTLE ends, from the begin of its wait."""
        self.settle = SETTLE if schedule.halted is not None else SETTLE_BEFORE
        self.count = 0

    def run(self) -> None:
        changes = sorted(self._changes(), key=lambda change: change[0])
        at = 0
        while at < len(changes) or self.deadlines:
            now = min(
                changes[at][0] if at < len(changes) else self.end,
                self.deadlines[0][0] if self.deadlines else self.end,
            )
            if now >= self.end:
                break
            while at < len(changes) and changes[at][0] == now:
                self._apply(*changes[at])
                at += 1
            self._expire(now)
            self._judge(now)
        for cpu in list(self.stretches):
            self._close(cpu, self.end)
        for queued in self.queued.values():
            self._settled(self.end, queued)

    def _changes(self) -> Iterator[_Change]:
        """What was before the window counts as of its begin."""
        for life, of in enumerate(self.schedule.lives):
            for time, mask in of.masks:
                yield max(time, self.begin), _MASK, life, mask
            for place, phase, begin, end in of.within(self.begin, self.end):
                if phase.state in WAITING:
                    yield begin, _QUEUE, life, place
                    yield end, _LEAVE, life, place
        for cpu, runs in enumerate(self.schedule.runs):
            online = max(self.begin, self.schedule.online[cpu])
            for run in runs:
                begin, end = max(run.begin, online), min(run.end, self.end)
                if run.thread == IDLE and begin < end:
                    yield begin, _IDLE, cpu, 0
                    yield end, _RUN, cpu, 0

    # ---- what changes

    def _apply(self, now: int, kind: int, which: int, value: int) -> None:
        self.count += 1
        if kind == _MASK:
            self._set_mask(which, value)
        elif kind == _QUEUE:
            life = self.schedule.lives[which]
            phase = life.phases[value]
            cpu = phase.cpu if phase.state == "runnable" else None
            began = _began(life, value)
            queued = self.queued[which] = _QueuedThread(life.thread, which, cpu, phase.wake, began)
            if cpu is not None:
                self.on[cpu][which] = queued
            if phase.is_halted or not _goes_on_waiting(life, value, self.begin):
                is_woken = phase.wake is not None or phase.state == "unqueued"
                self.until[which] = now + self.settle if is_woken else now
            self._place(now, queued)
        elif kind == _LEAVE:
            queued = self.queued.pop(which)
            if queued.cpu is not None:
                del self.on[queued.cpu][which]
            self._settled(now, queued)
            self._stop_waiting(queued)
        elif kind == _IDLE:
            self.idle[which] = self.count
            for queued in self.on[which].values():
                self._stop_waiting(queued)
                self._place(now, queued)
        else:
            del self.idle[which]
            for queued in self.on[which].values():
                queued.is_late = False
                self._settled(now, queued)
                self._place(now, queued)

    def _set_mask(self, life: int, mask: int) -> None:
        queued = self.waiting.get(life)
        if queued:
            self._stop_waiting(queued)
        self.masks[life] = mask
        if queued:
            self._wait(queued)

    def _place(self, now: int, queued: _QueuedThread) -> None:
        """It waits, unless its CPU is idle, or it has none yet: then it has time until a deadline."""
        if queued.cpu is not None and queued.cpu not in self.idle:
            self._wait(queued)
            return
        since = None if queued.cpu is None else self.idle[queued.cpu]
        until = self._settles_until(now, queued)
        heapq.heappush(self.deadlines, (until, self.count, queued, since))
        queued.settles_since = now if self.idle and until > now else None
        self.count += 1

    def _settled(self, now: int, queued: _QueuedThread) -> None:
        if queued.settles_since is not None:
            until = self._settles_until(queued.settles_since, queued)
            self.settles.append(min(now, until) - queued.settles_since)
            queued.settles_since = None

    def _settles_until(self, now: int, queued: _QueuedThread) -> int:
        if self.schedule.has_interruptions:
            return max(now, self.until[queued.life])
        return now + self.settle  # records of that time were judged so

    def _expire(self, now: int) -> None:
        while self.deadlines and self.deadlines[0][0] <= now:
            _, _, queued, since = heapq.heappop(self.deadlines)
            is_same = queued.cpu is None or self.idle.get(queued.cpu) == since
            if self.queued.get(queued.life) is queued and is_same:
                queued.is_late = True
                self._settled(now, queued)
                self._wait(queued)

    def _wait(self, queued: _QueuedThread) -> None:
        if queued.life not in self.waiting:
            mask = self.masks[queued.life]
            self.waiting[queued.life] = queued
            self.waiting_by_mask[mask] += 1
            for cpu, stretch in self.stretches.items():
                if stretch.is_pinned or mask >> cpu & 1:
                    stretch.add(queued.thread)

    def _stop_waiting(self, queued: _QueuedThread) -> None:
        if self.waiting.pop(queued.life, None):
            mask = self.masks[queued.life]
            self.waiting_by_mask[mask] -= 1
            if not self.waiting_by_mask[mask]:
                del self.waiting_by_mask[mask]

    # ---- what follows

    def _judge(self, now: int) -> None:
        """Opens and closes stretches, by what is so from now on."""
        wanted = 0
        for mask in self.waiting_by_mask:
            wanted |= mask
        for cpu in [cpu for cpu in self.stretches if not self._is_free(cpu)]:
            self._close(cpu, now)
        for cpu in self.idle if self.waiting else ():
            if not self._is_free(cpu):
                continue
            is_pinned = not wanted >> cpu & 1
            stretch = self.stretches.get(cpu)
            if stretch and stretch.is_pinned is not is_pinned:
                self._close(cpu, now)
                stretch = None
            if stretch is None:
                self._open(cpu, now, is_pinned=is_pinned)

    def _is_free(self, cpu: int) -> bool:
        return bool(self.waiting) and cpu in self.idle and all(wait.is_late for wait in self.on[cpu].values())

    def _open(self, cpu: int, now: int, *, is_pinned: bool) -> None:
        waiting = (wait for wait in self.waiting.values() if is_pinned or self.masks[wait.life] >> cpu & 1)
        some = list(islice(waiting, MOST_THREADS))
        stretch = self.stretches[cpu] = _OpenStretch(now, some[0].wake, some[0].began, is_pinned)
        for wait in some:
            stretch.add(wait.thread)

    def _close(self, cpu: int, now: int) -> None:
        stretch = self.stretches.pop(cpu)
        threads = tuple(stretch.threads)
        self.found.append(
            WastedStretch(cpu, stretch.begin, now, threads, stretch.wake, stretch.is_pinned, stretch.began)
        )


def _goes_on_waiting(life: ThreadLife, place: int, since: int) -> bool:
    """Whether it waited right before this phase, too, after this time. A phase may have no length: who is
    told to wake a thread may put it on a queue within the same ns."""
    while place > 0 and life.phases[place - 1].state in WAITING:
        if max(life.phases[place - 1].begin, since) < life.phases[place].begin:
            return True
        place -= 1
    return False


def _began(life: ThreadLife, place: int) -> WaitBegin:
    phase, before = life.phases[place], life.phases[place - 1] if place else None
    if phase.state == "unqueued":
        return "unqueued"
    if phase.is_halted:
        return "halted"
    if before and before.state == "runnable" and before.cpu != phase.cpu:
        return "moved"
    if phase.wake is None:
        return "yielded" if phase.cause and phase.cause.kind == "yield" else "preempted"
    if life.wakes and phase.wake is life.wakes[0] and life.phases[0].begin:
        return "started"
    return "woken here" if phase.wake.cpu == phase.wake.waker_cpu else "woken elsewhere"


@dataclass(frozen=True)
class SchedulePauses:
    schedule: Schedule

    @cached_property
    def waits(self) -> Sequence[PlainWait]:
        """By length, the longest first."""
        return find_waits(self.schedule)

    @property
    def wasted(self) -> Sequence[WastedStretch]:
        """Where a CPU idled although a thread waited that may run there, by time."""
        return self._idleness.wasted

    @property
    def excused(self) -> Sequence[WastedStretch]:
        return self._idleness.excused

    @property
    def settles(self) -> Sequence[int]:
        return self._idleness.settles

    @cached_property
    def held(self) -> Sequence[HeldStretch]:
        """Where a CPU was in the kernel for long although a thread waited that may run there, by time."""
        return find_held(self.schedule, self.waits)

    @cached_property
    def _idleness(self) -> Idleness:
        return find_idleness(self.schedule)
