"""What all of the wasted time of runs has in common: how the waits began, by whom, and who waited.

Takes the books of runs, with what tells a thread's role and the source of a wake-up; gives frozen rows, the
largest first. The rows of `how` add up to the wasted time; those of `who` need not, because several threads
may wait at once. What a wake-up came from is told by the names of the functions on its trail. Pure; nothing
fails.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchgate.insn.symbols import Symbols
from benchgate.insn.threads_log import IDLE
from benchgate.judge.accounts.threads.books import ThreadBooks, ThreadWake, WastedStretch

SourceOf = Callable[[ThreadWake], str]
RoleOf = Callable[[int], str]

_HOW = {
    "woken here": "{source} left on its own CPU",
    "woken elsewhere": "{source} onto another CPU",
    "started": "the start of a thread",
    "moved": "a move to a CPU that ran another thread",
    "preempted": "a preemption",
    "yielded": "a yield",
    "halted": "a CPU that was halted with its thread",
    "unqueued": "a wake-up that came to no queue",
}


_SOURCES = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        ("futex", "a futex wake-up"),
        ("unpark", "an unpark"),
        ("timer|process_timeout|thread_expire", "a timer"),
        ("queue_work|kick_pool", "a work queue"),
        ("pipe", "a pipe"),
        ("sock|unix_|tcp_", "a socket"),
        ("do_call|do_reply", "a message"),
        ("rcu", "the end of a grace period"),
        ("exit|bury", "an exit"),
        ("softirq|interrupt|irq", "an interrupt"),
    )
)
"""By the names of functions, of those that the kernels that ship have; the innermost one counts."""


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


@dataclass(frozen=True, slots=True)
class NamedBooks:
    """The books of one run, and how its threads and wake-ups are told."""

    books: ThreadBooks
    role_of: RoleOf
    source_of: SourceOf


NOTHING_WASTED = WastedAccount(0, (), ())


def named_books(books: ThreadBooks, symbols: Symbols) -> NamedBooks:
    roles = {book.thread: book.role or book.name for book in books.threads}

    def role_of(thread: int) -> str:
        return roles.get(thread) or f"thread {thread}"

    return NamedBooks(books, role_of, lambda wake: source_of(symbols, wake))


def source_of(symbols: Symbols, wake: ThreadWake) -> str:
    for address in wake.trail:
        name = symbols.name_of(address) or ""
        for pattern, source in _SOURCES:
            if pattern.search(name):
                return source
    return "an interrupt" if wake.waker == IDLE else "a wake-up"


def wasted_account(runs: Iterable[NamedBooks]) -> WastedAccount:
    """Of these runs together."""
    how: dict[str, list[int]] = defaultdict(list)
    who: dict[str, list[int]] = defaultdict(list)
    for run in runs:
        for stretch in run.books.wasted:
            length = stretch.end - stretch.begin
            how[_how(stretch, run.source_of)].append(length)
            for role in {run.role_of(thread) for thread in stretch.threads}:
                who[role].append(length)
    total = sum(map(sum, how.values()))
    return WastedAccount(total, _rows(how, total), _rows(who, total))


def _how(stretch: WastedStretch, source_of: SourceOf) -> str:
    source = source_of(stretch.wake) if stretch.wake else "a wake-up"
    return _HOW[stretch.began].format(source=source)


def _rows(of: Mapping[str, Sequence[int]], total: int) -> tuple[WastedCause, ...]:
    rows = (
        WastedCause(what, sum(some), sum(some) / total, len(some), max(some)) for what, some in of.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.time, row.what)))
