"""How much CPU time was wasted while threads waited, and what each thread did, in words and cells.

Takes a SessionView or a `ThreadTimeline`; gives sentences for a terminal, lines of Markdown and rows of a
table; nothing of a session without a record of threads. Does not fail.
"""

from __future__ import annotations

from itertools import groupby

from benchgate.base.text import counted, percent
from benchgate.judge.accounts.thread_timeline import NamedThread, ThreadTimeline, WastedTime
from benchgate.render.escape import markdown
from benchgate.render.tables import units
from benchgate.render.tables.columns import NOTHING
from benchgate.render.view import SessionView

TITLE = "Threads and wasted CPU time"
ABOUT = (
    "Wasted is the share of the CPUs' time in which a CPU was idle while a thread that may run there waited "
    "elsewhere; of each cell the worst of its recorded runs that are shown in report.html."
)
HEADS = (
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


def conservation(of: WastedTime) -> str:
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
    return units.shown(ns, "ns") if ns else NOTHING
