"""Finds where CPUs idled although threads waited: the work conservation of a schedule.

Takes a `Schedule`; gives stretches of wasted and of excused time, by time. Pure; nothing fails.

The rule. A thread waits if it is runnable and the CPU on whose queue it stands runs another one. A CPU is
free if it is idle and nothing stands on its own queue. A free CPU's time is wasted while a thread waits
that may run there, and excused while threads wait of which none may run there. If one thread waits and
seven CPUs are free, the time of all seven counts: each of them might have run it.

A thread on the queue of an idle CPU does not wait in this sense: it will run there next, and the wake-up
takes its time. If that takes longer than SETTLE, the wake-up was lost or is too late: from then on the
thread waits like any other, and its own CPU is free.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from benchgate.insn.threads_log import IDLE
from benchgate.judge.accounts.threads.books import ThreadWake, WastedStretch
from benchgate.judge.accounts.threads.schedule import Schedule

SETTLE = 100_000
"""In ns, so in instructions on the ideal machine. Linux needs about 10,000 from an interrupt to the
thread."""
MOST_THREADS = 64
"""A stretch names at most so many threads."""


def find_idleness(schedule: Schedule) -> tuple[tuple[WastedStretch, ...], tuple[WastedStretch, ...]]:
    """The wasted stretches and the excused ones."""
    sweep = _Sweep(schedule)
    sweep.run()
    by_time = sorted(sweep.found, key=lambda one: (one.begin, one.cpu))
    return tuple(one for one in by_time if not one.is_pinned), tuple(one for one in by_time if one.is_pinned)


@dataclass(slots=True)
class _Queued:
    """A runnable thread on a queue."""

    thread: int
    life: int
    cpu: int
    wake: ThreadWake | None
    is_late: bool = False
    """It stands on the queue of an idle CPU for longer than SETTLE."""


@dataclass(slots=True)
class _OpenStretch:
    begin: int
    wake: ThreadWake | None
    threads: dict[int, None]


_LEAVE, _MASK, _QUEUE, _IDLE, _RUN = range(5)
"""The kinds of changes."""
_Change = tuple[int, int, int, int]
"""(time, kind, CPU or place of the life, place of the phase or mask)."""


class _Sweep:
    """Goes through the window by time, and knows at each instant who is queued where and which CPU is
    idle."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.begin, self.end = schedule.begin, schedule.end
        self.masks = [(1 << schedule.vcpus) - 1] * len(schedule.lives)
        self.queued: dict[int, _Queued] = {}
        """By the place of the life."""
        self.on: list[dict[int, _Queued]] = [{} for _ in range(schedule.vcpus)]
        """The same by CPU."""
        self.idle: dict[int, int] = {}
        """For each idle CPU how many changes came before it became idle."""
        self.deadlines: list[tuple[int, int, _Queued, int]] = []
        """(time, a number of its own, the thread, since when its CPU idles as in `idle`)."""
        self.stretches: dict[tuple[int, bool], _OpenStretch] = {}
        """By CPU and whether it is excused."""
        self.found: list[WastedStretch] = []
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
        for key in list(self.stretches):
            self._close(key, self.end)

    def _changes(self) -> Iterator[_Change]:
        """What was before the window counts as of its begin."""
        for life, of in enumerate(self.schedule.lives):
            for time, mask in of.masks:
                yield max(time, self.begin), _MASK, life, mask
            for place, phase, begin, end in of.within(self.begin, self.end):
                if phase.state == "runnable":
                    yield begin, _QUEUE, life, place
                    yield end, _LEAVE, life, place
        for cpu, runs in enumerate(self.schedule.runs):
            online = max(self.begin, self.schedule.online[cpu])
            for run in runs:
                begin, end = max(run.begin, online), min(run.end, self.end)
                if run.thread == IDLE and begin < end:
                    yield begin, _IDLE, cpu, 0
                    yield end, _RUN, cpu, 0

    def _apply(self, now: int, kind: int, which: int, value: int) -> None:
        self.count += 1
        if kind == _MASK:
            self.masks[which] = value
        elif kind == _QUEUE:
            life = self.schedule.lives[which]
            phase = life.phases[value]
            queued = _Queued(life.thread, which, phase.cpu, phase.wake)
            self.queued[which] = self.on[phase.cpu][which] = queued
            if phase.cpu in self.idle:
                self._allow_time(now, queued)
        elif kind == _LEAVE:
            del self.on[self.queued.pop(which).cpu][which]
        elif kind == _IDLE:
            self.idle[which] = self.count
            for queued in self.on[which].values():
                self._allow_time(now, queued)
        else:
            del self.idle[which]
            for queued in self.on[which].values():
                queued.is_late = False

    def _allow_time(self, now: int, queued: _Queued) -> None:
        item = (now + SETTLE, self.count, queued, self.idle[queued.cpu])
        self.count += 1
        heapq.heappush(self.deadlines, item)

    def _expire(self, now: int) -> None:
        while self.deadlines and self.deadlines[0][0] <= now:
            _, _, queued, since = heapq.heappop(self.deadlines)
            if self.queued.get(queued.life) is queued and self.idle.get(queued.cpu) == since:
                queued.is_late = True

    def _judge(self, now: int) -> None:
        """Opens, goes on with and closes stretches, by what is so from now on."""
        waiting = [one for one in self.queued.values() if one.is_late or one.cpu not in self.idle]
        now_open: set[tuple[int, bool]] = set()
        for cpu in self.idle if waiting else ():
            if any(not one.is_late for one in self.on[cpu].values()):
                continue
            allowed = [one for one in waiting if self.masks[one.life] >> cpu & 1]
            key = (cpu, not allowed)
            now_open.add(key)
            self._go_on(now, key, allowed or waiting)
        for key in [key for key in self.stretches if key not in now_open]:
            self._close(key, now)

    def _go_on(self, now: int, key: tuple[int, bool], waiting: list[_Queued]) -> None:
        stretch = self.stretches.get(key)
        if stretch is None:
            stretch = self.stretches[key] = _OpenStretch(now, waiting[0].wake, {})
        if len(stretch.threads) < MOST_THREADS:
            stretch.threads.update(dict.fromkeys(one.thread for one in waiting))

    def _close(self, key: tuple[int, bool], now: int) -> None:
        stretch, (cpu, is_pinned) = self.stretches.pop(key), key
        threads = tuple(stretch.threads)[:MOST_THREADS]
        self.found.append(WastedStretch(cpu, stretch.begin, now, threads, stretch.wake, is_pinned))
