"""Where the time of runs on a machine went, and which class of it grew with the number of CPUs.

Takes judged runs; gives the books of each that counts, those of each cell's median run marked. Fails with
VerifyError if a log cannot be read. Of the books of median runs it gives what the vCPUs of each cell spent
together in the window (`Spending`), and of two cells of a row what the larger one spent more, by cause, the
largest part first (`Growth`): why the row does not scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from benchgate.base import grouped
from benchgate.base.runs import Disorder, VerifiedRun
from benchgate.insn.memory_log import WINDOW, MemoryBooks
from benchgate.judge.judged_run import JudgedRun, counted_by_cell, median_of
from benchgate.judge.run_files import RunFiles

CAUSES: Mapping[str, tuple[str, ...]] = {
    "shared lines": ("transfer_cluster", "transfer_across", "transfer_socket", "upgrade", "busy"),
    "own caches": ("l1", "l2", "l3"),
    "memory": ("local",),
    "remote memory": ("remote",),
    "queueing": ("queue",),
    "atomics": ("atomic",),
    "page walks": ("walk",),
    "interrupts": ("interrupt",),
}
"""What vCPUs wait for, by the classes of c/memory/memory.h. `busy` is the wait for a line that is just being
served to another CPU, so it belongs to shared lines; `queue` is the wait for the bandwidth of a node."""
EXECUTED, PAUSED, HALTED = "instructions", "pauses", "halted"
PARTS = (EXECUTED, *CAUSES, PAUSED, HALTED)
"""The tables show the parts in this order."""


@dataclass(frozen=True, slots=True)
class RunBooks:
    run: int
    cell: str
    row: str
    cpus: int
    seed: int
    books: MemoryBooks
    orders: Mapping[str, Disorder]
    total: int
    """The run's total window, in ns."""
    is_median: bool
    """True for the median run of its cell (judged_run.median_of)."""


def run_books(runs: Sequence[JudgedRun]) -> tuple[RunBooks, ...]:
    """The books have the order of execution."""
    cells = counted_by_cell(runs).values()
    medians = {median_of(of).run.attempt for of in cells}
    counted = sorted((run for of in cells for run in of), key=lambda run: run.run.attempt)
    return tuple(books for run in counted for books in _of_run(run, is_median=run.run.attempt in medians))


def _of_run(run: VerifiedRun, *, is_median: bool) -> Iterator[RunBooks]:
    raw = run.run
    log = RunFiles(raw).clock if raw.clock_log is not None else None
    if log is None or log.memory is None:
        return
    cell = raw.cell
    yield RunBooks(
        run=raw.attempt,
        cell=cell.id,
        row=cell.row,
        cpus=cell.cpus,
        seed=raw.seed,
        books=log.memory,
        orders=log.orders,
        total=run.total,
        is_median=is_median,
    )


@dataclass(frozen=True, slots=True)
class Spending:
    """What the vCPUs of one run spent in the window, together."""

    of: RunBooks
    parts: Mapping[str, int]
    """Each of PARTS with its ns."""

    @property
    def whole(self) -> int:
        return sum(self.parts.values())

    def share(self, part: str) -> float:
        return self.parts[part] / self.whole if self.whole else 0.0


@dataclass(frozen=True, slots=True)
class Growth:
    """What the cell `large` spent beyond the cell `small` of the same row."""

    small: Spending
    large: Spending
    efficiency: float
    """1 if twice the CPUs take half the time."""
    causes: tuple[tuple[str, int], ...]
    """What grew, in ns, the largest first."""


def spendings(books: Iterable[RunBooks]) -> tuple[Spending, ...]:
    """Takes the median run of each cell; gives them by row and CPU count."""
    medians = sorted(
        (book for book in books if book.is_median), key=lambda one: (one.row, one.cpus, one.cell)
    )
    return tuple(Spending(median, parts_of(median)) for median in medians)


def parts_of(run: RunBooks) -> Mapping[str, int]:
    """Adds up what all vCPUs spent in the window."""
    of = run.books.phases[WINDOW]
    result = {
        EXECUTED: sum(books.spent.executed + books.spent.stalled - books.waited for books in of),
        **{
            cause: sum(books.stalls[name] for books in of for name in names)
            for cause, names in CAUSES.items()
        },
        PAUSED: sum(books.spent.paused + books.spent.skipped for books in of),
        HALTED: sum(books.spent.halted for books in of),
    }
    return MappingProxyType(result)


def growths(every: Iterable[Spending]) -> tuple[Growth, ...]:
    """Compares in each row, which is on one machine, the largest CPU count with the smallest."""
    rows = grouped(every, key=lambda spending: spending.of.row)
    pairs = ((of[0], of[-1]) for of in rows.values() if of[-1].of.cpus > of[0].of.cpus)
    return tuple(_growth(small, large) for small, large in pairs)


def _growth(small: Spending, large: Spending) -> Growth:
    more = {part: large.parts[part] - small.parts[part] for part in PARTS}
    causes = sorted(((part, ns) for part, ns in more.items() if ns > 0), key=lambda one: -one[1])
    used, needed = large.of.total * large.of.cpus, small.of.total * small.of.cpus
    return Growth(small, large, needed / used, tuple(causes))
