"""Finds where a CPU was held: its kernel executed for long without a program while another thread waited.

Takes a `Schedule` and the waits of its threads; gives `HeldStretch`es, by time. Pure; nothing fails.

A CPU that spins in the kernel, or does what nobody needs, has a thread and is not idle. What a stay spent in
loops that can do nothing but wait, as the plugin reads them (spin.h), is charged. Of the rest nothing outside
of the guest tells useless work from useful, but useful work in a kernel is short or can be preempted: FREE of
each stay is not charged. It is FREE_OFTEN where most stays are longer than that: then the kernel does not do
something long now and then, but takes long whatever it is asked. What a program did not ask for, by a call or
a fault, is judged in sum: a kernel that interrupts its program again and again lets it do little, however
short each interruption is. The interruptions of a CPU have FREE as well, used as they come, and each time
between two of them gives a part of itself back (REGAINS). A thread exits once, so all of that is free but
what it spun. Of threads that never execute a program only what they spun is known (threads_stays.h).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchgate.judge.accounts.threads.books import HeldStretch
from benchgate.judge.accounts.threads.lateness import PlainWait, may_run
from benchgate.judge.accounts.threads.schedule import KernelStay, Schedule

FREE = 50_000
"""In ns, of each stay. tern's longest ones have 20 us; a fork, an exit or an unmap of Linux 60 to 90 us."""

FREE_OFTEN = 10_000
"""The same where more than half of the stays are longer. Half of those of Linux are shorter than 3 us, and
half of those of tern than 0.6."""
FEWEST = 20
"""So many stays must be known for that."""
REGAINS = 4
"""Of four times as long between interruptions they use nothing of FREE: a fifth of the CPU's time."""


@dataclass(frozen=True, slots=True)
class _Charge:
    """What of a stay is not free."""

    begin: int
    stay: KernelStay


def _charges(schedule: Schedule) -> Iterator[_Charge]:
    used, last, of_call = [0] * schedule.vcpus, [0] * schedule.vcpus, _free(schedule)
    for stay in schedule.stays or ():
        free, cpu, length = of_call, stay.cpu, stay.end - stay.begin
        if stay.is_exit and schedule.has_interruptions:
            free = length
        elif stay.is_interruption:
            before = max(0, used[cpu] - (stay.begin - last[cpu]) // REGAINS)
            free = FREE - before
            used[cpu], last[cpu] = min(FREE, before + length), stay.end
        free = min(free, length - stay.spun)
        yield _Charge(max(stay.begin + free, schedule.begin), stay)


def _free(schedule: Schedule) -> int:
    counts: dict[int, list[int]] = {}
    longer = 0
    for stay in schedule.stays or ():
        if schedule.begin <= stay.begin and stay.end <= schedule.end and stay.count:
            counts.setdefault(stay.cpu, []).append(stay.count)
            longer += not stay.is_interruption and stay.end - stay.begin - stay.spun >= FREE_OFTEN
    every = sum(of[-1] - of[0] + 1 for of in counts.values())
    return FREE_OFTEN if every >= FEWEST and 2 * longer > every else FREE


def find_held(schedule: Schedule, waits: Sequence[PlainWait]) -> tuple[HeldStretch, ...]:
    """Of what is not free of each stay: when a thread waited that may run there."""
    charges = sorted(_charges(schedule), key=lambda charge: (charge.begin, charge.stay.cpu))
    coming = sorted((-wait.begin, wait.end, wait.life) for wait in waits)
    active: list[tuple[int, int, int]] = []
    """(end, begin, life) of the waits that have begun before the stay's end, the next one to end first."""
    found: list[HeldStretch] = []
    for charge in charges:
        stay, begin = charge.stay, charge.begin
        end = min(stay.end, schedule.end)
        while coming and -coming[-1][0] < end:
            since, until, life = coming.pop()
            heapq.heappush(active, (until, -since, life))
        while active and active[0][0] <= begin:
            heapq.heappop(active)
        own = [
            (max(since, begin), min(until, end), life)
            for until, since, life in active
            if since < end and may_run(schedule, schedule.lives[life], stay.cpu, begin)
        ]
        if begin < end and own:
            found += _stretches(schedule, stay, sorted(own))
    return tuple(sorted(found, key=lambda stretch: (stretch.begin, stretch.cpu)))


def _stretches(
    schedule: Schedule, stay: KernelStay, spans: Sequence[tuple[int, int, int]]
) -> Iterator[HeldStretch]:
    """The times in which any of them waited, from spans of (begin, end, life) in order."""
    first, last, lives = spans[0][0], spans[0][1], [spans[0][2]]
    for since, until, life in [*spans[1:], (stay.end + 1, stay.end + 1, -1)]:
        if since <= last:
            last = max(last, until)
            lives.append(life)
            continue
        threads = tuple(dict.fromkeys(schedule.lives[one].thread for one in lives))
        yield HeldStretch(stay.cpu, first, last, stay.thread, stay.end - stay.begin, threads)
        first, last, lives = since, until, [life]
