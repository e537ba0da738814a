"""Who ran where in the median and in the slowest run of each cell, of the runs whose threads were recorded.

Takes judged runs, and the kernel's symbols of each; gives `ThreadTimeline`s, cell by cell: what is drawn, the
threads' books, how much CPU time was wasted, and the longest waits. Fails with VerifyError if a file of
threads cannot be read or contradicts itself.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchgate.base.runs import RawRun, VerifiedRun
from benchgate.insn.symbols import NO_SYMBOLS, Symbols
from benchgate.judge.accounts.thread_sketch import MOST_ROWS, ThreadSketch, busiest, sketch
from benchgate.judge.accounts.threads.accounting import books_of_run, conserved
from benchgate.judge.accounts.threads.books import CpuBook, ThreadBook, ThreadBooks, ThreadWait, WastedTime
from benchgate.judge.accounts.threads.wasted_causes import (
    NOTHING_WASTED,
    WastedAccount,
    named_books,
    wasted_account,
)
from benchgate.judge.accounts.timeline import ChosenRun, chosen, facts_of
from benchgate.judge.judged_run import JudgedRun, counted_by_cell
from benchgate.judge.run_files import THREAD_EVENTS, RunFiles

MOST_BOXES = 7_000
"""So many boxes may a picture have."""
ALL_BOXES = 40_000
"""So many boxes may all pictures of a session have; CPUs have equal parts of them."""
FEWEST_BOXES = 150
MOST_LATE = 3
"""So many of the longest waits of a run are explained."""
MOST_BOOKS = 40
"""So many threads are named."""


@dataclass(frozen=True, slots=True)
class NamedThread:
    """A thread's book. Threads of one name are told apart by a number: `bench #2`."""

    name: str
    book: ThreadBook
    longest: int
    """Its longest wait for a CPU, in ns."""


@dataclass(frozen=True, slots=True)
class ThreadTimeline(ChosenRun):
    threads: tuple[NamedThread, ...]
    """Those that ran or waited most."""
    count: int
    """How many threads there were."""
    by_cpu: tuple[CpuBook, ...]
    conserved: WastedTime
    longest_wait: int
    is_cut: bool
    """The record was full before the window closed, so the rest of it is not here."""
    sketch: ThreadSketch
    begin: int = 0
    """Of the window."""
    late: tuple[ThreadWait, ...] = ()
    """The longest waits."""
    names: Mapping[int, str] = field(default_factory=dict)
    """Of the threads in `late`."""
    symbols: Symbols = NO_SYMBOLS
    """Of the addresses in `late`."""
    account: WastedAccount = NOTHING_WASTED
    """How the wasted time began, and who waited."""


def thread_timelines(
    runs: Sequence[JudgedRun], symbols: Callable[[RawRun], Symbols] = lambda _: NO_SYMBOLS
) -> tuple[ThreadTimeline, ...]:
    recorded = [judged_run for judged_run in runs if os.path.lexists(judged_run.run.folder / THREAD_EVENTS)]
    found = [(run, which) for cell in counted_by_cell(recorded).values() for _, run, which in chosen(cell)]
    lanes = sum(run.run.cell.cpus + MOST_ROWS for run, _ in found)
    made = (_timeline(run, which, ALL_BOXES // max(lanes, 1), symbols) for run, which in found)
    return tuple(timeline for timeline in made if timeline is not None)


def _timeline(
    run: VerifiedRun, which: str, boxes: int, symbols: Callable[[RawRun], Symbols]
) -> ThreadTimeline | None:
    """`boxes`: for each lane of a picture."""
    raw = run.run
    books = books_of_run(RunFiles(raw), explained=MOST_LATE)
    if books is None:
        return None
    known = symbols(raw)
    trails = {place for wait in books.waits if wait.wake for place in wait.wake.trail}
    most = min(max(boxes * (raw.cell.cpus + MOST_ROWS), FEWEST_BOXES), MOST_BOXES)
    return ThreadTimeline(
        **facts_of(run, which),
        threads=named_threads(books),
        count=len(books.threads),
        by_cpu=books.cpus,
        conserved=conserved(books),
        longest_wait=books.wait_lengths[-1] if books.wait_lengths else 0,
        is_cut=books.is_cut,
        sketch=sketch(books, most),
        begin=books.begin,
        late=books.waits,
        names=_named_in(books),
        symbols=known.containing(trails),
        account=wasted_account([named_books(books, known)]),
    )


def _named_in(books: ThreadBooks) -> Mapping[int, str]:
    """The names of the threads of which the explained waits tell."""
    told: set[int] = set()
    for wait in books.waits:
        told |= {wait.thread, *(thread for thread, _ in wait.behind)}
        told |= {wait.wake.waker} if wait.wake else set()
        told |= {
            thread for cause in (wait.lost, wait.ended) if cause for thread in (cause.before, cause.woken)
        }
    return {book.thread: book.label for book in books.threads if book.thread in told and book.label}


def named_threads(books: ThreadBooks) -> tuple[NamedThread, ...]:
    names = names_of(books.threads)
    shown = busiest(books.threads, MOST_BOOKS)
    return tuple(
        NamedThread(names[book.thread], book, books.longest_waits.get(book.thread, 0)) for book in shown
    )


def names_of(threads: Sequence[ThreadBook]) -> dict[int, str]:
    """The same thread has the same name in every run that makes its threads in the same order."""
    given = {book.thread: book.label or "no name" for book in threads}
    shared = Counter(given.values())
    place: Counter[str] = Counter()
    names = {}
    for thread in sorted(given):
        name = given[thread]
        place[name] += 1
        names[thread] = f"{name} #{place[name]}" if shared[name] > 1 else name
    return names
