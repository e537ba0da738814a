"""What all of the wasted time of runs has in common: how the waits began, by whom, and who waited.

Takes the books of runs, what calls a thread's role and what calls the source of a wake-up; gives frozen rows, the
largest first. The rows of `how` add up to the wasted time; those of `who` need not, because several threads may
wait at once. Pure; nothing fails.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchgate.judge.accounts.threads.books import ThreadBooks, ThreadWake, WastedStretch

SourceOf = Callable[[ThreadWake], str]
RoleOf = Callable[[int], str]

_HOW = {
    "woken here": "{source}, left on its own CPU",
    "woken elsewhere": "{source} onto another CPU",
    "started": "the start of a thread",
    "moved": "a move to a CPU that ran another thread",
    "preempted": "a preemption",
    "yielded": "a yield",
    "halted": "a CPU that was halted with its thread",
    "unqueued": "a wake-up that came to no queue",
}


@dataclass(frozen=True, slots=True)
class WastedCause:
    what: str
    time: int
    """In ns."""
    share: float
    """Of the wasted time."""
    stretches: int
    longest: int


@dataclass(frozen=True, slots=True)
class WastedAccount:
    time: int
    """All of the wasted time, in ns."""
    how: tuple[WastedCause, ...]
    who: tuple[WastedCause, ...]


def account_of(books: ThreadBooks, role_of: RoleOf, source_of: SourceOf) -> WastedAccount:
    how: dict[str, list[int]] = defaultdict(list)
    who: dict[str, list[int]] = defaultdict(list)
    for stretch in books.wasted:
        length = stretch.end - stretch.begin
        how[_how(stretch, source_of)].append(length)
        for role in {role_of(thread) for thread in stretch.threads}:
            who[role].append(length)
    return WastedAccount(sum(map(sum, how.values())), _rows(how), _rows(who, sum(map(sum, how.values()))))


def together(accounts: Iterable[WastedAccount]) -> WastedAccount:
    """Those of several runs as one."""
    every = list(accounts)
    total = sum(account.time for account in every)
    return WastedAccount(
        total, _summed([account.how for account in every], total), _summed([one.who for one in every], total)
    )


def _how(stretch: WastedStretch, source_of: SourceOf) -> str:
    source = source_of(stretch.wake) if stretch.wake else "a wake-up"
    return _HOW[stretch.began].format(source=source)


def _rows(of: dict[str, list[int]], total: int | None = None) -> tuple[WastedCause, ...]:
    whole = sum(map(sum, of.values())) if total is None else total
    rows = (
        WastedCause(what, sum(some), sum(some) / whole if whole else 0.0, len(some), max(some))
        for what, some in of.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.time, row.what)))


def _summed(tables: Iterable[tuple[WastedCause, ...]], total: int) -> tuple[WastedCause, ...]:
    found: dict[str, list[WastedCause]] = defaultdict(list)
    for row in (row for table in tables for row in table):
        found[row.what].append(row)
    rows = (
        WastedCause(
            what,
            sum(row.time for row in some),
            sum(row.time for row in some) / total if total else 0.0,
            sum(row.stretches for row in some),
            max(row.longest for row in some),
        )
        for what, some in found.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.time, row.what)))
