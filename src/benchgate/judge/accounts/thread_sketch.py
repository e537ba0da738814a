"""What a picture of threads needs of a run's books: what ran in each column of time, by CPU and by thread.

Takes `ThreadBooks` and how many boxes a picture may have; gives a frozen `ThreadSketch`, which is small
however long the run was: its columns are as narrow as that number allows. Pure; does not fail.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchgate.base import grouped
from benchgate.judge.accounts.threads.books import (
    QueueStep,
    ThreadBook,
    ThreadBooks,
    ThreadSlice,
    ThreadWake,
    WastedStretch,
)

COLUMNS = (888, 444, 222, 111, 74)
"""The numbers of columns that a picture may have; each is a whole number of units wide."""
LEVELS = 4
"""A share of a column is drawn in so many steps."""
MOST_CPUS, MOST_ROWS = 64, 16
"""A picture by CPU shows the first ones; one by thread has so many rows."""
MOST_ARROWS, MOST_CROSSED = 200, 1_000
"""A picture has so many arrows, and they cross so many CPUs together."""

_Key = TypeVar("_Key")
_Use = Counter[int]
"""ns in a column, by thread."""


@dataclass(frozen=True, slots=True)
class LaneBox:
    """Neighbouring columns of a CPU in which `thread` ran longest, busy to `level` of LEVELS."""

    thread: int
    begin: int
    end: int
    level: int


@dataclass(frozen=True, slots=True)
class RowBox:
    """Neighbouring columns of a thread, which ran and was runnable to these of LEVELS. `cpu`: where it ran
    longest; None: nowhere."""

    begin: int
    end: int
    running: int
    runnable: int
    cpu: int | None


@dataclass(frozen=True, slots=True)
class SketchRow:
    thread: int
    begin: int
    end: int
    """The columns in which it lived."""
    boxes: tuple[RowBox, ...]


@dataclass(frozen=True, slots=True)
class WakeArrow:
    """A wake-up on one CPU puts a thread on the queue of another, in ns since the window began."""

    time: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class ThreadSketch:
    length: int
    """The window, in ns."""
    columns: int
    lanes: tuple[tuple[LaneBox, ...], ...]
    """By CPU; what is in no box is idle."""
    wasted: tuple[tuple[tuple[int, int], ...], ...]
    """By CPU, as (first column, column after the last)."""
    queues: tuple[tuple[tuple[int, int], ...], ...]
    """By CPU, as (column, longest queue from there on); empty if no length was observed."""
    rows: tuple[SketchRow, ...]
    arrows: tuple[WakeArrow, ...]
    crossing: int
    """How many wake-ups led to another CPU. `arrows` are every n-th of them."""

    @property
    def longest_queue(self) -> int:
        return max((length for steps in self.queues for _, length in steps), default=0)


def sketch(books: ThreadBooks, most: int) -> ThreadSketch:
    """`most`: how many boxes the picture by CPU, and the one by thread, may each have."""
    mine = grouped(books.slices, key=lambda thread_slice: thread_slice.thread)
    shown = busiest(books.threads, MOST_ROWS)
    for columns in COLUMNS:
        at = _Columns(books.begin, max(books.end - books.begin, 1), columns)
        lanes, queues = _lanes(books, at), _queues(books, at)
        rows = tuple(_row(book, mine.get(book.thread, []), at) for book in shown)
        by_cpu = sum(map(len, lanes)) + sum(map(len, queues))
        if max(by_cpu, sum(len(row.boxes) for row in rows)) <= most:
            break
    drawn, wasted = _cpus(books), grouped(books.wasted, key=lambda stretch: stretch.cpu)
    crossing = [
        wake for wake in books.wakes if wake.cpu != wake.waker_cpu and max(wake.cpu, wake.waker_cpu) in drawn
    ]
    thinned = crossing[:: _thinning(crossing)]
    return ThreadSketch(
        length=at.length,
        columns=at.count,
        lanes=lanes,
        wasted=tuple(_wasted(wasted.get(cpu, []), at) for cpu in drawn),
        queues=queues,
        rows=rows,
        arrows=tuple(WakeArrow(of.time - books.begin, of.waker_cpu, of.cpu) for of in thinned),
        crossing=len(crossing),
    )


def _thinning(crossing: Sequence[ThreadWake]) -> int:
    """Every so many wake-ups have an arrow."""
    crossed = sum(abs(wake.cpu - wake.waker_cpu) for wake in crossing)
    return max(-(-len(crossing) // MOST_ARROWS), -(-crossed // MOST_CROSSED), 1)


def busiest(threads: Iterable[ThreadBook], most: int) -> list[ThreadBook]:
    """Those that ran longest and those that waited longest for a CPU, in turns; by their ids."""
    known = [thread for thread in threads if thread.thread and (thread.running or thread.runnable)]
    by_running = sorted(known, key=lambda book: (-book.running, book.thread))
    by_waiting = sorted(known, key=lambda book: (-book.runnable, book.thread))
    turns = (book for pair in zip(by_running, by_waiting, strict=True) for book in pair)
    chosen = list({(turn.thread, turn.begin): turn for turn in turns}.values())[:most]
    return sorted(chosen, key=lambda book: (book.thread, book.begin))


@dataclass(frozen=True, slots=True)
class _Columns:
    zero: int
    length: int
    count: int

    def edge(self, column: int) -> int:
        """When a column begins."""
        return self.zero + self.length * column // self.count

    def of(self, time: int) -> int:
        return min(max((time - self.zero) * self.count // self.length, 0), self.count - 1)

    def parts(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """(column, ns in it) of a stretch of time."""
        begin, end = max(begin, self.zero), min(end, self.zero + self.length)
        if end <= begin:
            return
        first, last = self.of(begin), self.of(end - 1)
        for column in range(first, last + 1):
            ns = min(end, self.edge(column + 1)) - max(begin, self.edge(column))
            if ns > 0:
                yield column, ns

    def level(self, column: int, ns: int) -> int:
        """A share of a column in steps; at least one of what is there."""
        whole = max(self.edge(column + 1) - self.edge(column), 1)
        return min(max((2 * LEVELS * ns + whole) // (2 * whole), 1), LEVELS) if ns else 0


def joined(pieces: Iterable[tuple[int, int, _Key]]) -> Iterator[tuple[int, int, _Key]]:
    """Pieces as (begin, end, what they have), of which those that touch and have the same are one."""
    last: tuple[int, int, _Key] | None = None
    for begin, end, has in pieces:
        if last and last[1:] == (begin, has):
            last = (last[0], end, has)
            continue
        if last:
            yield last
        last = (begin, end, has)
    if last:
        yield last


def _cpus(books: ThreadBooks) -> range:
    return range(min(books.vcpus, MOST_CPUS))


# ---- by CPU


def _lanes(books: ThreadBooks, at: _Columns) -> tuple[tuple[LaneBox, ...], ...]:
    uses: list[dict[int, _Use]] = [defaultdict(_Use) for _ in _cpus(books)]
    for thread_slice in books.slices:
        if thread_slice.state == "running" and thread_slice.thread and thread_slice.cpu in _cpus(books):
            for column, ns in at.parts(thread_slice.begin, thread_slice.end):
                uses[thread_slice.cpu][column][thread_slice.thread] += ns
    return tuple(tuple(_lane(use, at)) for use in uses)


def _lane(uses: Mapping[int, _Use], at: _Columns) -> Iterator[LaneBox]:
    columns = (
        (column, column + 1, (_longest(use), at.level(column, sum(use.values()))))
        for column, use in sorted(uses.items())
    )
    for begin, end, (thread, level) in joined(columns):
        yield LaneBox(thread, begin, end, level)


def _longest(use: _Use) -> int:
    return min(use, key=lambda thread: (-use[thread], thread))


def _wasted(stretches: Sequence[WastedStretch], at: _Columns) -> tuple[tuple[int, int], ...]:
    """Stretches that touch become one; each is at least one column wide."""
    joined: list[tuple[int, int]] = []
    for stretch in sorted(stretches, key=lambda stretch: stretch.begin):
        begin, end = at.of(stretch.begin), at.of(max(stretch.end - 1, stretch.begin)) + 1
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return tuple(joined)


def _queues(books: ThreadBooks, at: _Columns) -> tuple[tuple[tuple[int, int], ...], ...]:
    by_cpu = grouped(books.queues, key=lambda queue_step: queue_step.cpu)
    return tuple(tuple(_queue(by_cpu.get(cpu, []), at)) for cpu in _cpus(books)) if by_cpu else ()


def _queue(steps: Sequence[QueueStep], at: _Columns) -> Iterator[tuple[int, int]]:
    """The longest queue in each column; a column without a step has what was left before."""
    tops: dict[int, int] = {}
    left: dict[int, int] = {}
    now = 0
    for step in sorted(steps, key=lambda queue_step: queue_step.time):
        column = at.of(step.time)
        if step.time > at.zero + at.length:
            break
        # What was there before counts in this column only if it lasted into it.
        before = now if column not in tops and step.time > at.edge(column) else 0
        tops[column] = max(tops.get(column, before), step.length)
        now = left[column] = step.length
    level = None
    for column in sorted({*tops, *(column + 1 for column in left if column + 1 < at.count)}):
        now = tops.get(column, left.get(column - 1, 0))
        if now != level:
            level = now
            yield column, now


# ---- by thread


def _row(book: ThreadBook, slices: Sequence[ThreadSlice], at: _Columns) -> SketchRow:
    running: dict[int, _Use] = defaultdict(_Use)
    runnable: Counter[int] = Counter()
    for thread_slice in slices:
        if (
            thread_slice.state == "blocked" or not book.begin <= thread_slice.begin < book.end
        ):  # else of another one with its id
            continue
        for column, ns in at.parts(thread_slice.begin, thread_slice.end):
            if thread_slice.state == "running":
                running[column][thread_slice.cpu] += ns
            else:
                runnable[column] += ns
    boxes = tuple(_row_boxes(running, runnable, at))
    return SketchRow(book.thread, at.of(book.begin), at.of(max(book.end - 1, book.begin)) + 1, boxes)


def _row_boxes(running: Mapping[int, _Use], runnable: Counter[int], at: _Columns) -> Iterator[RowBox]:
    columns = (
        (column, column + 1, _done(running.get(column, _Use()), runnable[column], column, at))
        for column in sorted({*running, *runnable})
    )
    for begin, end, (ran, waited, cpu) in joined(columns):
        if ran or waited:
            yield RowBox(begin, end, ran, waited, cpu)


def _done(use: _Use, waited_ns: int, column: int, at: _Columns) -> tuple[int, int, int | None]:
    """The levels to which a thread ran and waited in a column, and the CPU where it ran longest."""
    ran = at.level(column, sum(use.values()))
    return ran, min(at.level(column, waited_ns), LEVELS - ran), _longest(use) if use else None
