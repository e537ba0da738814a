"""What the guest's threads did, in words and tables: who ran and waited, wasted time, late threads.

Takes `ThreadBooks` and the kernel's symbols, of one run; gives text for a terminal, or plain JSON. Of a
SessionView or a `ThreadTimeline` it gives sentences, lines of Markdown and rows of a table, and nothing if no
run has a record of threads. Names of threads come from the guest, so they are made visible on a terminal.
Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from benchgate.base.text import counted, first_few, percent, visible
from benchgate.insn.symbols import Symbols
from benchgate.insn.threads_log import IDLE
from benchgate.judge.accounts.thread_timeline import NamedThread, ThreadTimeline
from benchgate.judge.accounts.threads.books import (
    ThreadBooks,
    ThreadWait,
    ThreadWake,
    WastedStretch,
    WastedTime,
)
from benchgate.judge.checks.thread_record import thread_metrics
from benchgate.render.escape import markdown
from benchgate.render.tables import columns
from benchgate.render.tables.columns import NOTHING
from benchgate.render.tables.units import shown
from benchgate.render.view import SessionView

MOST_THREADS, MOST_STRETCHES, MOST_NAMED = 20, 5, 4
"""So many threads and stretches are shown; a line names at most MOST_NAMED threads or CPUs."""
HEADS = (
    "thread",
    "id",
    "ran",
    "waited",
    "blocked",
    "switches",
    "wake-ups",
    "preempted",
    "moved",
    "longest wait",
)
CPU_HEADS = ("CPU", "ran", "idle", "wasted", "longest", "switches")
TITLE = "Threads and wasted CPU time"
ABOUT = (
    "Wasted is the share of the CPUs' time in which a CPU was idle while a thread that may run there waited "
    "elsewhere; of each cell the worst of its recorded runs that are shown in report.html."
)
BOOK_HEADS = (
    "thread",
    "id",
    "running",
    "runnable",
    "blocked",
    "switches",
    "wake-ups",
    "preempted",
    "migrations",
    "longest wait",
)
CELL_HEADS = ("cell", "run", "wasted", "longest", "times", "excused", "longest wait", "threads")


@dataclass(frozen=True, slots=True)
class ThreadView:
    books: ThreadBooks
    symbols: Symbols
    names: Mapping[int, str] = field(init=False)
    """The last name of each thread that has one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", {one.thread: one.name for one in self.books.threads if one.name})

    def name(self, thread: int) -> str:
        """`worker (212)`; a thread without a name is its id."""
        if thread == IDLE:
            return "idle"
        known = self.names.get(thread)
        return f"{visible(known)} ({thread})" if known else f"thread {thread}"

    def since(self, time: int) -> str:
        """A time of the guest, from the begin of the window."""
        return shown(time - self.books.begin, "ns")

    def place(self, address: int) -> str:
        return visible(self.symbols.name_of(address) or f"{address:#x}")


def text(view: ThreadView, waits: Sequence[ThreadWait]) -> list[str]:
    """Tables of threads and CPUs, work conservation, and the chain of each of these waits."""
    lines = [*_threads(view), "", *_cpus(view), "", *conservation(view)]
    for wait in waits:
        lines += ["", *chain(view, wait)]
    return lines


def _threads(view: ThreadView) -> list[str]:
    books = view.books
    active = [one for one in books.threads if one.running or one.runnable]
    busiest = sorted(active, key=lambda one: (-(one.running + one.runnable), one.thread))
    rows = [
        (
            visible(one.name) or "-",
            str(one.thread),
            *(shown(length, "ns") for length in (one.running, one.runnable, one.blocked)),
            *(f"{count:,}" for count in (one.switches, one.wakeups, one.preemptions, one.migrations)),
            shown(books.longest_waits[one.thread], "ns") if one.thread in books.longest_waits else "-",
        )
        for one in busiest[:MOST_THREADS]
    ]
    rest = busiest[MOST_THREADS:]
    more = (
        [f"and {counted(len(rest), 'thread')} that ran {_sum(one.running for one in rest)}"] if rest else []
    )
    span = shown(books.end - books.begin, "ns")
    cut = "; the record was full then, and the window goes on" if books.is_cut else ""
    of = f"{len(active)} of {counted(len(books.threads), 'thread')} ran or waited"
    head = f"{of}, on {counted(books.vcpus, 'CPU')} in {span}{cut}"
    return [head, *columns.drawn([HEADS, *rows]), *more]


def _sum(lengths: Iterator[int]) -> str:
    return shown(sum(lengths), "ns")


def _cpus(view: ThreadView) -> list[str]:
    rows = [
        (
            str(one.cpu),
            *(shown(length, "ns") for length in (one.running, one.idle, one.wasted, one.longest_wasted)),
            f"{one.switches:,}",
        )
        for one in view.books.cpus
    ]
    return columns.drawn([CPU_HEADS, *rows])


def conservation(view: ThreadView) -> Iterator[str]:
    """A sentence, then the longest stretches."""
    books = view.books
    yield _sentence(
        books, books.wasted, "wasted: CPUs were idle for", "although a thread waited that may run there"
    )
    longest = sorted(books.wasted, key=lambda one: (one.begin - one.end, one.begin))[:MOST_STRETCHES]
    for one in longest:
        length, since = shown(one.end - one.begin, "ns"), view.since(one.begin)
        who = first_few([view.name(thread) for thread in one.threads], MOST_NAMED)
        cause = f", from the wake-up by {_waker(view, one.wake)}" if one.wake else ", from a preemption"
        yield f"  {length} at {since}: CPU {one.cpu} idle while {who} waited{cause}"
    if books.excused:
        what = "although threads waited that may not run there"
        yield _sentence(books, books.excused, "excused: CPUs were idle for", what)


def _sentence(books: ThreadBooks, stretches: Sequence[WastedStretch], what: str, why: str) -> str:
    total = sum(one.end - one.begin for one in stretches)
    span = (books.end - books.begin) * books.vcpus
    share = f" ({percent(total / span)} of the CPUs' time)" if span and total else ""
    longest = max((one.end - one.begin for one in stretches), default=0)
    times = f", {counted(len(stretches), 'time')}, the longest {shown(longest, 'ns')}" if total else ""
    return f"{what} {shown(total, 'ns')}{share} {why}{times}"


def chain(view: ThreadView, wait: ThreadWait) -> Iterator[str]:
    """Why this thread was late."""
    who, length = view.name(wait.thread), shown(wait.length, "ns")
    yield f"{who} waited {length} on CPU {wait.cpu}, from {view.since(wait.begin)} to {view.since(wait.end)}"
    yield from (f"  {head:<10} {what}" for head, what in _links(view, wait))


def _links(view: ThreadView, wait: ThreadWait) -> Iterator[tuple[str, str]]:
    wake = wait.wake
    if wake is None:
        yield "cause", "it was preempted, or yielded"
    else:
        yield "woken by", f"{_waker(view, wake)} at {view.since(wake.time)}"
        if wake.trail:
            yield "at", " < ".join(map(view.place, wake.trail))
        yield "placed on", f"CPU {wake.cpu}" + (f", moved to CPU {wait.cpu}" if wake.cpu != wait.cpu else "")
    behind = [f"{view.name(thread)} {shown(length, 'ns')}" for thread, length in wait.behind]
    yield "behind", first_few(behind, MOST_NAMED) if behind else "nobody"
    idle = [f"CPU {cpu} {shown(length, 'ns')}" for cpu, length in wait.idle_cpus]
    yield "idle then", first_few(idle, MOST_NAMED) if idle else "no CPU where it may run"
    yield "ended by", _end(view, wait)


def _waker(view: ThreadView, wake: ThreadWake) -> str:
    who = "an interrupt" if wake.waker == IDLE else view.name(wake.waker)
    return f"{who} on CPU {wake.waker_cpu}"


def _end(view: ThreadView, wait: ThreadWait) -> str:
    who = view.name(wait.after)
    return {
        "block": f"{who} blocked",
        "preemption": f"{who} was preempted, or yielded",
        "exit": f"{who} exited",
        "migration": f"it was moved to CPU {wait.cpu}",
        "idle": f"CPU {wait.cpu} was idle; only the switch took time",
        "close": "nothing: the window closed, and it still waits",
    }[wait.ended_by]


def plain(view: ThreadView, waits: Sequence[ThreadWait]) -> dict[str, Any]:
    """The same as plain JSON; times are in ns of the guest."""
    books = view.books
    return {
        "vcpus": books.vcpus,
        "begin": books.begin,
        "end": books.end,
        "is_cut": books.is_cut,
        "metrics": thread_metrics(books),
        "threads": [asdict(one) for one in books.threads],
        "cpus": [asdict(one) for one in books.cpus],
        "wasted": [_with_trail(view, asdict(one)) for one in books.wasted],
        "excused": [_with_trail(view, asdict(one)) for one in books.excused],
        "waits": [_with_trail(view, asdict(one)) for one in waits],
    }


def _with_trail(view: ThreadView, one: dict[str, Any]) -> dict[str, Any]:
    """The addresses of the wake-up's trail, each with the symbol that contains it, or null."""
    wake = one["wake"]
    if wake:
        named = [{"address": f"{each:#x}", "symbol": view.symbols.name_of(each)} for each in wake["trail"]]
        return {**one, "wake": {**wake, "trail": named}}
    return one


def sentences(view: SessionView) -> list[str]:
    """One for each cell that has books."""
    return [f"{one.cell}: {wasted(one.conserved)}" for one in worst_of(view)]


def lines_of_markdown(view: SessionView) -> list[str]:
    found = worst_of(view)
    if not found:
        return []
    lines = [f"- {markdown(f'{one.cell}: {wasted(one.conserved)}')}" for one in found]
    return [f"## {TITLE}", "", ABOUT, "", *lines, ""]


def worst_of(view: SessionView) -> list[ThreadTimeline]:
    """Of each cell the run that wasted most."""
    cells = groupby(view.threads, key=lambda one: one.cell)
    return [max(of, key=lambda one: (one.conserved.share, one.run)) for _, of in cells]


def wasted(of: WastedTime) -> str:
    """`wasted 0.8% (longest 1.2 ms)`."""
    return f"wasted {percent(of.share)} (longest {_time(of.longest)})" if of.wasted else "wasted 0%"


def conserved_sentence(of: WastedTime) -> str:
    """The sentence on work conservation."""
    if not of.wasted:
        told = "No CPU was idle while a thread that may run there waited elsewhere"
    else:
        told = (
            f"CPUs were idle for {_time(of.wasted)}, {percent(of.share)} of their time, while a thread that "
            f"may run there waited elsewhere: {counted(of.stretches, 'time')}, at most {_time(of.longest)}"
        )
    if of.excused:
        told += f"; for another {_time(of.excused)} the threads that waited may not run on the idle CPU"
    return f"{told}."


def cell_row(one: ThreadTimeline) -> list[str]:
    of = one.conserved
    return [
        one.cell,
        f"{one.which} {one.run:04}",
        percent(of.share) if of.wasted else "0%",
        _time(of.longest),
        f"{of.stretches:,}",
        _time(of.excused),
        _time(one.longest_wait),
        f"{one.count:,}",
    ]


def row(one: NamedThread) -> list[str]:
    book = one.book
    times = (book.running, book.runnable, book.blocked)
    counts = (book.switches, book.wakeups, book.preemptions, book.migrations)
    return [
        one.name,
        str(book.thread),
        *map(_time, times),
        *(f"{count:,}" if count else NOTHING for count in counts),
        _time(one.longest),
    ]


def _time(ns: int) -> str:
    return shown(ns, "ns") if ns else NOTHING
