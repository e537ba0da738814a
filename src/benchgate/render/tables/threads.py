"""What the guest's threads did, in words and tables: who ran and waited, wasted time, late threads.

Takes `ThreadBooks` and the kernel's symbols, of one run; gives text for a terminal, or plain JSON. Of a
SessionView or a `ThreadTimeline` it gives sentences, lines of Markdown and rows of a table, and nothing if no
run has a record of threads. Names of threads come from the guest, so they are made visible on a terminal.
Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, groupby
from typing import Annotated, Any

from benchgate.base.jsonfields import Presence, as_json
from benchgate.base.text import counted, first_few, percent, visible
from benchgate.insn.symbols import Symbols
from benchgate.insn.threads_log import IDLE
from benchgate.judge.accounts.thread_timeline import NamedThread, ThreadTimeline
from benchgate.judge.accounts.threads.accounting import conserved
from benchgate.judge.accounts.threads.books import (
    DISTANCES,
    BookPhase,
    CpuBook,
    Distance,
    ThreadBook,
    ThreadBooks,
    ThreadWait,
    ThreadWake,
    WastedStretch,
    WastedTime,
)
from benchgate.judge.accounts.threads.wasted_causes import WastedAccount
from benchgate.judge.checks.thread_record import thread_metrics
from benchgate.render.escape import markdown
from benchgate.render.tables import columns
from benchgate.render.tables.columns import NOTHING
from benchgate.render.tables.units import shown
from benchgate.render.view import SessionView

MOST_THREADS, MOST_STRETCHES, MOST_NAMED = 20, 5, 4
"""So many threads and stretches are shown; a line names at most MOST_NAMED threads or CPUs."""
FAR: tuple[Distance, ...] = DISTANCES[1:]
SOMETIMES = ("unqueued", "yields", "to clusters", "to sockets")
"""Columns that are left out if no thread has a value there."""
HEADS = (
    "thread",
    "id",
    "ran",
    "waited",
    "unqueued",
    "blocked",
    "switches",
    "wake-ups",
    "preempted",
    "yields",
    "moved",
    "to clusters",
    "to sockets",
    "longest wait",
)
CPU_HEADS = ("CPU", "ran", "idle", "wasted", "longest", "switches")
PHASE_HEADS = ("phase", "length", "CPUs ran", "idle", "wasted", "threads waited")
BY_PHASE_HEADS = ("thread", "id", "phase", "ran", "waited", "blocked", "ran on CPU", "waited on CPU")
TITLE = "Threads and wasted CPU time"
ABOUT = (
    "Wasted is the share of the CPUs' time in which a CPU was idle while a thread that may run there waited "
    "elsewhere; of each cell the worst of its recorded runs that are shown in report.html."
)
BOOK_HEADS = (
    *(
        "thread",
        "id",
        "running",
        "runnable",
        "unqueued",
        "blocked",
        "switches",
        "wake-ups",
        "preempted",
        "yields",
    ),
    *("migrations", "to another cluster", "to another socket or node", "longest wait"),
)
CELL_HEADS = ("cell", "run", "wasted", "longest", "times", "excused", "longest wait", "threads")


@dataclass(frozen=True, slots=True)
class ThreadView:
    begin: int
    """Of the window: times are told from here on."""
    names: Mapping[int, str]
    """The last name of each thread that has one."""
    symbols: Symbols

    def name(self, thread: int) -> str:
        """`worker (212)`; a thread without a name is its id."""
        if thread == IDLE:
            return "idle"
        known = self.names.get(thread)
        return f"{visible(known)} ({thread})" if known else f"thread {thread}"

    def since(self, time: int) -> str:
        return shown(time - self.begin, "ns")

    def place(self, address: int) -> str:
        return visible(self.symbols.name_of(address) or f"{address:#x}")


def view_of(books: ThreadBooks, symbols: Symbols) -> ThreadView:
    names = {thread.thread: thread.label for thread in books.threads if thread.label}
    return ThreadView(books.begin, names, symbols)


# ---- why a thread was late


@dataclass(frozen=True, slots=True)
class WaitChain:
    """Why a thread was late, in words: for the terminal, the page and JSON."""

    head: str
    links: tuple[tuple[str, str], ...]
    """(what is told, how it was), in order."""

    @property
    def lines(self) -> list[str]:
        return [self.head, *(f"  {what:<10} {how}" for what, how in self.links)]


def chain(view: ThreadView, wait: ThreadWait) -> WaitChain:
    who, length = view.name(wait.thread), shown(wait.length, "ns")
    head = f"{who} waited {length} on CPU {wait.cpu}, from {view.since(wait.begin)} to {view.since(wait.end)}"
    return WaitChain(head, tuple(_links(view, wait)))


def _links(view: ThreadView, wait: ThreadWait) -> Iterator[tuple[str, str]]:
    wake = wait.wake
    if wake is None:
        if wait.unqueued:
            yield "unqueued", "all the time: the kernel was told to wake it"
        else:
            yield "cause", _lost(view, wait)
    else:
        yield "woken by", f"{_waker(view, wake)} at {view.since(wake.time)}"
        if wake.trail:
            yield "at", " < ".join(map(view.place, wake.trail))
        if wait.unqueued:
            yield "unqueued", f"{shown(wait.unqueued, 'ns')}, since the kernel was told to wake it"
        yield "placed on", f"CPU {wake.cpu}" + (f", moved to CPU {wait.cpu}" if wake.cpu != wait.cpu else "")
    behind = [f"{view.name(thread)} {shown(length, 'ns')}" for thread, length in wait.behind]
    yield "behind", first_few(behind, MOST_NAMED) if behind else "nobody"
    idle = [f"CPU {cpu} {shown(length, 'ns')}" for cpu, length in wait.idle_cpus]
    yield "idle then", first_few(idle, MOST_NAMED) if idle else "no CPU where it may run"
    yield "ended by", _end(view, wait)


def _waker(view: ThreadView, wake: ThreadWake) -> str:
    who = "an interrupt" if wake.waker == IDLE else view.name(wake.waker)
    return f"{who} on CPU {wake.waker_cpu}"


def _lost(view: ThreadView, wait: ThreadWait) -> str:
    lost = wait.lost
    if lost is None:
        return "it waited already when the record began"
    when = view.since(lost.time)
    return {
        "yield": f"it gave way at {when}",
        "tick": f"the tick at {when} took its CPU",
        "halt": f"its CPU was halted at {when}, with this thread",
        "wakeup": f"the wake-up of {view.name(lost.woken)} at {when} took its CPU",
    }.get(lost.kind, "it was preempted, or yielded")


def _end(view: ThreadView, wait: ThreadWait) -> str:
    ended = wait.ended
    if ended is None:
        return "nothing: the window closed, and it still waits"
    who, when = view.name(ended.before), view.since(ended.time)
    own = "its own wake-up" if ended.woken == wait.thread else f"the wake-up of {view.name(ended.woken)}"
    had = "was idle" if ended.before == IDLE else f"had run {who}"
    return {
        "block": f"{who} blocked",
        "exit": f"{who} exited",
        "yield": f"{who} gave way at {when}",
        "tick": f"the tick at {when}, which preempted {who}",
        "wakeup": f"{own} at {when}, which preempted {who}",
        "preemption": f"{who} was preempted, or yielded",
        "steal": f"CPU {wait.cpu} took it from CPU {ended.origin} at {when}; it {had}",
        "push": f"CPU {ended.mover} moved it from CPU {ended.origin} at {when}; CPU {wait.cpu} {had}",
        "idle": f"CPU {wait.cpu} was idle; only the switch took time",
        "halt": f"CPU {wait.cpu} was halted, and went on at {when}",
    }[ended.kind]


# ---- for a terminal


def text(
    view: ThreadView,
    books: ThreadBooks,
    waits: Sequence[ThreadWait],
    account: Sequence[str] = (),
    *,
    phases: bool,
) -> list[str]:
    """Tables of threads and CPUs, work conservation with lines on all of it, and the chain of each of these
    waits. `phases`: and what each thread did in each phase."""
    lines = [*_threads(books), "", *_cpus(books)]
    if len(books.phases) > 1:
        lines += ["", *_phases(books)]
    if phases:
        lines += ["", *_by_phase(books)]
    lines += ["", *conservation(view, books), *(["", *account] if account else [])]
    for wait in waits:
        lines += ["", *chain(view, wait).lines]
    return lines


def _busiest(books: ThreadBooks) -> list[ThreadBook]:
    active = [thread for thread in books.threads if thread.running or thread.runnable]
    return sorted(active, key=lambda book: (-(book.running + book.runnable), book.thread))


def _threads(books: ThreadBooks) -> list[str]:
    busiest = _busiest(books)
    rows = []
    for book in busiest[:MOST_THREADS]:
        lengths = (
            shown(book.running, "ns"),
            shown(book.runnable, "ns"),
            _time(book.unqueued),
            shown(book.blocked, "ns"),
        )
        longest = _time(books.longest_waits.get(book.thread, 0))
        rows.append((*_named(book), *lengths, *_counts(book), longest))
    used = [head not in SOMETIMES or any(row[n] != NOTHING for row in rows) for n, head in enumerate(HEADS)]
    rest = busiest[MOST_THREADS:]
    ran = shown(sum(book.running for book in rest), "ns")
    more = [f"and {counted(len(rest), 'thread')} that ran {ran}"] if rest else []
    span = shown(books.end - books.begin, "ns")
    cut = "; the record was full then, and the window goes on" if books.is_cut else ""
    of = f"{len(busiest)} of {counted(len(books.threads), 'thread')} ran or waited"
    head = f"{of}, on {counted(books.vcpus, 'CPU')} in {span}{cut}"
    return [head, *columns.drawn([[*compress(row, used)] for row in (HEADS, *rows)]), *more]


def _counts(book: ThreadBook) -> list[str]:
    """Its switches, wake-ups, preemptions, yields and migrations, and of these those that went far."""
    counts = [book.switches, book.wakeups, book.preemptions, book.yields, book.migrations]
    far = [book.moves[distance] for distance in FAR] if book.moves else [0] * len(FAR)
    return [f"{count:,}" if count else NOTHING for count in (*counts, *far)]


def _cpus(books: ThreadBooks) -> list[str]:
    rows: list[Sequence[str]] = [CPU_HEADS]
    for cpu in books.cpus:
        lengths = (cpu.running, cpu.idle, cpu.wasted, cpu.longest_wasted)
        rows.append((str(cpu.cpu), *(shown(length, "ns") for length in lengths), f"{cpu.switches:,}"))
    return columns.drawn(rows)


def _phases(books: ThreadBooks) -> list[str]:
    """All CPUs and all threads together."""
    rows = []
    for phase in books.phases:
        cpus = [part for cpu in books.cpus for part in cpu.by_phase if part.phase == phase.name]
        waited = sum(
            part.runnable for thread in books.threads for part in thread.by_phase if part.phase == phase.name
        )
        sums = (sum(getattr(cpu, what) for cpu in cpus) for what in ("running", "idle", "wasted"))
        rows.append((phase.name, *map(_time, (phase.end - phase.begin, *sums, waited))))
    return columns.drawn([PHASE_HEADS, *rows])


def _by_phase(books: ThreadBooks) -> list[str]:
    rows: list[Sequence[str]] = [BY_PHASE_HEADS]
    pairs = ((book, part) for book in _busiest(books)[:MOST_THREADS] for part in book.by_phase)
    for book, part in pairs:
        times = map(_time, (part.running, part.runnable, part.blocked))
        rows.append((*_named(book), part.phase, *times, *(_longest(part.by_cpu, which) for which in (1, 2))))
    return columns.drawn(rows)


def _named(book: ThreadBook) -> tuple[str, str]:
    return visible(book.label) or NOTHING, str(book.thread)


def _longest(by_cpu: Sequence[tuple[int, int, int]], which: int) -> str:
    """The CPUs with any of this time, the longest first."""
    known = sorted((-times[which], times[0]) for times in by_cpu if times[which])
    return first_few([f"{cpu}: {_time(-length)}" for length, cpu in known], MOST_NAMED)


def conservation(view: ThreadView, books: ThreadBooks) -> Iterator[str]:
    """A sentence, then the longest stretches."""
    yield _sentence(
        books, books.wasted, "wasted: CPUs were idle for", "although a thread waited that may run there"
    )
    by_length = sorted(books.wasted, key=lambda stretch: (stretch.begin - stretch.end, stretch.begin))
    for stretch in by_length[:MOST_STRETCHES]:
        length, since = shown(stretch.end - stretch.begin, "ns"), view.since(stretch.begin)
        who = first_few([view.name(thread) for thread in stretch.threads], MOST_NAMED)
        cause = f"the wake-up by {_waker(view, stretch.wake)}" if stretch.wake else "when it lost its CPU"
        yield f"  {length} at {since}: CPU {stretch.cpu} idle while {who} waited, from {cause}"
    if books.settles:
        total = sum(books.settles)
        mean = shown(total / len(books.settles), "ns")
        yield (
            f"settling: not in this are {shown(total, 'ns')} until woken threads came to their idle CPU, "
            f"{counted(len(books.settles), 'time')}, {mean} on average, the longest "
            f"{shown(max(books.settles), 'ns')}"
        )
    yield from _held(view, books)
    if books.excused:
        what = "although threads waited that may not run there"
        yield _sentence(books, books.excused, "excused: CPUs were idle for", what)


def _held(view: ThreadView, books: ThreadBooks) -> Iterator[str]:
    """A sentence, then the longest stretches."""
    if not books.held:
        return
    of = conserved(books)
    when = "during the work, " if of.working < of.time else ""
    yield (
        f"held: the kernel spun, or took for long, {shown(of.held, 'ns')} ({when}{percent(of.held_share)} of "
        f"the CPUs' time) although a thread waited that may run there; {counted(len(books.held), 'time')} in "
        "the window"
    )
    by_length = sorted(books.held, key=lambda stretch: (stretch.begin - stretch.end, stretch.begin))
    for stretch in by_length[:MOST_STRETCHES]:
        length, since = shown(stretch.end - stretch.begin, "ns"), view.since(stretch.begin)
        who = first_few([view.name(thread) for thread in stretch.threads], MOST_NAMED)
        stay = shown(stretch.stay, "ns")
        where = f"CPU {stretch.cpu} with {view.name(stretch.holder)} in the kernel ({stay})"
        yield f"  {length} at {since}: {where} while {who} waited"


def _sentence(books: ThreadBooks, stretches: Sequence[WastedStretch], what: str, why: str) -> str:
    total = sum(stretch.end - stretch.begin for stretch in stretches)
    span = (books.end - books.begin) * books.vcpus
    share = f" ({percent(total / span)} of the CPUs' time)" if span and total else ""
    longest = max((stretch.end - stretch.begin for stretch in stretches), default=0)
    times = f", {counted(len(stretches), 'time')}, the longest {shown(longest, 'ns')}" if total else ""
    return f"{what} {shown(total, 'ns')}{share} {why}{times}"


# ---- as JSON


@dataclass(frozen=True, slots=True)
class ToldWait:
    wait: Annotated[ThreadWait, Presence.INLINE]
    told: WaitChain
    """The same in words."""


@dataclass(frozen=True, slots=True)
class ThreadReport:
    """One run's books of threads. Times are of the guest, in ns since its first instruction."""

    run: str
    """The name of its folder."""
    vcpus: int
    begin: int
    end: int
    """The window; without marks the whole run, and no longer than the record."""
    is_cut: bool
    """True if the record became full before the window closed."""
    metrics: Mapping[str, float]
    phases: tuple[BookPhase, ...]
    """By time; together they are the window."""
    threads: tuple[ThreadBook, ...]
    cpus: tuple[CpuBook, ...]
    wasted: tuple[WastedStretch, ...]
    account: WastedAccount
    """How all of it began, and who waited."""
    excused: tuple[WastedStretch, ...]
    waits: tuple[ToldWait, ...]
    """Those that were asked for, the longest first."""
    symbols: Mapping[str, str]
    """The function that contains an address of a trail, where it is known."""


def plain(
    view: ThreadView, run: str, books: ThreadBooks, waits: Sequence[ThreadWait], account: WastedAccount
) -> Any:
    """The JSON of a `ThreadReport`."""
    wakes = [*(stretch.wake for stretch in (*books.wasted, *books.excused)), *(wait.wake for wait in waits)]
    places = {address for wake in wakes if wake for address in wake.trail}
    report = ThreadReport(
        run,
        books.vcpus,
        books.begin,
        books.end,
        is_cut=books.is_cut,
        metrics=thread_metrics(books),
        phases=books.phases,
        threads=books.threads,
        cpus=books.cpus,
        wasted=books.wasted,
        account=account,
        excused=books.excused,
        waits=tuple(ToldWait(wait, chain(view, wait)) for wait in waits),
        symbols={f"{place:#x}": name for place in sorted(places) if (name := view.symbols.name_of(place))},
    )
    return as_json(report)


# ---- in reports


def sentences(view: SessionView) -> list[str]:
    """One for each cell that has books."""
    return [f"{timeline.cell}: {wasted(timeline.conserved, timeline.run)}" for timeline in worst_of(view)]


def lines_of_markdown(view: SessionView) -> list[str]:
    timelines = worst_of(view)
    if not timelines:
        return []
    lines = [
        f"- {markdown(f'{timeline.cell}: {wasted(timeline.conserved, timeline.run)}')}"
        for timeline in timelines
    ]
    return [f"## {TITLE}", "", ABOUT, "", *lines, ""]


def worst_of(view: SessionView) -> list[ThreadTimeline]:
    """Of each cell the run that wasted most."""
    cells = groupby(view.threads, key=lambda timeline: timeline.cell)
    return [max(of, key=lambda timeline: (timeline.conserved.share, timeline.run)) for _, of in cells]


def wasted(of: WastedTime, run: int) -> str:
    """`wasted 0.8% in its worst shown run, 0007 (longest 1.2 ms)`: the metric is the median of all runs."""
    worst = f"in its worst shown run, {run:04}"
    return f"wasted {percent(of.share)} {worst} (longest {_time(of.longest)})" if of.wasted else "wasted 0%"


def conserved_sentence(of: WastedTime) -> str:
    """The sentence on work conservation."""
    if not of.wasted:
        told = "No CPU was idle while a thread that may run there waited elsewhere"
    else:
        told = (
            f"CPUs were idle for {_time(of.wasted)}, {percent(of.share)} of their time, while a thread that "
            f"may run there waited elsewhere: {counted(of.stretches, 'time')}, at most {_time(of.longest)}"
        )
    if of.settled:
        told += f"; woken threads came to an idle CPU after {_time(of.settling / of.settled)} on average"
    if of.held:
        told += f"; CPUs were held in the kernel for {_time(of.held)} while threads waited"
    if of.excused:
        told += f"; for another {_time(of.excused)} the threads that waited may not run on the idle CPU"
    return f"{told}."


def cell_row(timeline: ThreadTimeline) -> list[str]:
    of = timeline.conserved
    return [
        timeline.cell,
        f"{timeline.which} {timeline.run:04}",
        percent(of.share) if of.wasted else "0%",
        _time(of.longest),
        f"{of.stretches:,}",
        _time(of.excused),
        _time(timeline.longest_wait),
        f"{timeline.count:,}",
    ]


def row(thread: NamedThread) -> list[str]:
    book = thread.book
    times = (book.running, book.runnable, book.unqueued, book.blocked)
    return [thread.name, str(book.thread), *map(_time, times), *_counts(book), _time(thread.longest)]


def _time(ns: float) -> str:
    return shown(ns, "ns") if ns else NOTHING
