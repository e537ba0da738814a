"""Makes the books of threads from what the guest's scheduler did.

Takes `ThreadEvents`, the marks of the work and where the CPUs stand; gives frozen `ThreadBooks`, for the
window. Pure, but for `books_of_run`, which reads a run's files. Fails with VerifyError if the events
contradict each other (repeating.py), or if the books do not add up: a thread's states to its life, a CPU's to
the window, phases to the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from benchgate.base.errors import VerifyError
from benchgate.insn.log import ClockMark, MarkKind
from benchgate.insn.machine_shape import CpuPlace, places_in
from benchgate.insn.threads_log import IDLE, ThreadEvents
from benchgate.judge.accounts.threads.books import (
    DISTANCES,
    BookPhase,
    CpuBook,
    CpuPhase,
    Distance,
    PhaseBook,
    QueueStep,
    ThreadBook,
    ThreadBooks,
    ThreadSlice,
    WastedStretch,
    WastedTime,
)
from benchgate.judge.accounts.threads.idleness import SchedulePauses
from benchgate.judge.accounts.threads.lateness import explain_waits
from benchgate.judge.accounts.threads.repeating import repeat_schedule
from benchgate.judge.accounts.threads.roles import thread_roles
from benchgate.judge.accounts.threads.schedule import Schedule, ThreadLife
from benchgate.judge.run_files import RunFiles

MOST_WAITS = 10_000
WORK = "work"
WHOLE = "whole"
"""The only phase of a window without marks of work."""
_Spent = TypeVar("_Spent")
"""A kind of time."""


def books_of_run(files: RunFiles, *, explained: int = MOST_WAITS) -> ThreadBooks | None:
    """The books of a run; None if its threads were not observed."""
    events, pauses = files.thread_events, files.pauses
    if events is None or pauses is None:
        return None
    marks = files.clock_log.marks if files.run.clock_log else ()
    books = thread_books(events, marks, places_in(files.shape), explained=explained, pauses=pauses)
    roles = thread_roles(files, pauses.schedule)
    threads = (
        replace(book, role=roles[book.thread].role, worker=roles[book.thread].worker)
        if book.thread in roles
        else book
        for book in books.threads
    )
    return replace(books, threads=tuple(threads))


def thread_books(
    events: ThreadEvents,
    marks: Sequence[ClockMark] = (),
    places: Sequence[CpuPlace] = (),
    *,
    explained: int = MOST_WAITS,
    pauses: SchedulePauses | None = None,
) -> ThreadBooks:
    """`places`: of each CPU on a machine with memory; none on the ideal one. `explained`: how many waits are
    explained, the longest first. `pauses`: of these events, if they are known."""
    pauses = pauses or SchedulePauses(repeat_schedule(events))
    schedule, waits, wasted = pauses.schedule, pauses.waits, pauses.wasted
    if places and len(places) != schedule.vcpus:
        raise VerifyError(
            f"{events.path} has {schedule.vcpus} vCPUs, but the run's machine has {len(places)}"
        )
    phases = phases_between(marks, schedule.begin, schedule.end)
    books, slices = [], []
    for life in sorted(schedule.lives, key=lambda life: (life.thread, life.phases[0].begin)):
        mine = _slices(schedule, life)
        if mine:
            books.append(_book(schedule, life, mine, phases, places))
            slices += mine
    wakes = (wake for life in schedule.lives for wake in life.wakes if _is_in(schedule, wake.time))
    return ThreadBooks(
        vcpus=schedule.vcpus,
        begin=schedule.begin,
        end=schedule.end,
        is_cut=schedule.is_cut,
        phases=phases,
        threads=tuple(_checked(events, books)),
        cpus=tuple(_cpu_book(events, schedule, cpu, wasted, phases) for cpu in range(schedule.vcpus)),
        slices=tuple(slices),
        wakes=tuple(sorted(wakes, key=lambda wake: (wake.time, wake.waker_cpu))),
        queues=tuple(_queue_steps(schedule)),
        wasted=tuple(wasted),
        excused=tuple(pauses.excused),
        settles=tuple(pauses.settles),
        held=tuple(pauses.held),
        has_stays=schedule.stays is not None,
        has_interruptions=schedule.has_interruptions,
        has_halts=schedule.halted is not None,
        waits=explain_waits(schedule, waits[:explained]),
        wait_lengths=tuple(wait.length for wait in reversed(waits)),
        longest_waits={schedule.lives[wait.life].thread: wait.length for wait in reversed(waits)},
    )


def phases_between(marks: Sequence[ClockMark], begin: int, end: int) -> tuple[BookPhase, ...]:
    """The window's parts before, during and after the work; they have the names of what a guest counts itself
    (attribution.PHASES). Those that are empty are left out."""
    starts = [mark.time for mark in marks if mark.kind == MarkKind.WORK_BEGIN]
    ends = [mark.time for mark in marks if mark.kind == MarkKind.WORK_END]
    if not starts or not ends:
        return (BookPhase(WHOLE, begin, end),)
    first = min(max(min(starts), begin), end)
    last = min(max(*ends, first), end)
    edges = (("spawn_ready", begin, first), (WORK, first, last), ("shutdown", last, end))
    return tuple(BookPhase(*edge) for edge in edges if edge[1] < edge[2])


def conserved(books: ThreadBooks) -> WastedTime:
    begin, end = _judged_for_held(books)
    return WastedTime(
        time=(books.end - books.begin) * books.vcpus,
        wasted=sum(cpu.wasted for cpu in books.cpus),
        longest=max((cpu.longest_wasted for cpu in books.cpus), default=0),
        stretches=len(books.wasted),
        excused=sum(stretch.end - stretch.begin for stretch in books.excused),
        settling=sum(books.settles),
        settled=len(books.settles),
        held=sum(max(0, min(stretch.end, end) - max(stretch.begin, begin)) for stretch in books.held),
        working=(end - begin) * books.vcpus,
    )


def _judged_for_held(books: ThreadBooks) -> tuple[int, int]:
    """What a kernel does once for a program that begins or ends is no part of it: in a short window that may
    be most of the time."""
    work = [phase for phase in books.phases if phase.name == WORK]
    if not work or not books.has_interruptions:
        return books.begin, books.end
    return work[0].begin, work[0].end


def _is_in(schedule: Schedule, time: int) -> bool:
    return schedule.begin <= time < schedule.end


def _slices(schedule: Schedule, life: ThreadLife) -> list[ThreadSlice]:
    """The thread's states within the window."""
    return [
        ThreadSlice(life.thread, phase.cpu, begin, end, phase.state)
        for _, phase, begin, end in life.within(schedule.begin, schedule.end)
        if phase.state != "dead"
    ]


def _book(
    schedule: Schedule,
    life: ThreadLife,
    slices: Sequence[ThreadSlice],
    phases: Sequence[BookPhase],
    places: Sequence[CpuPlace],
) -> ThreadBook:
    sums: Counter[str] = Counter()
    for part in slices:
        sums[part.state] += part.end - part.begin
    moves = [(origin, cpu) for time, origin, cpu in life.moves if _is_in(schedule, time)]
    yields = sum(_is_in(schedule, time) for time in life.yields)
    leaves = [could_go_on for time, could_go_on in life.leaves if _is_in(schedule, time)]
    wakers = Counter(wake.waker for wake in life.wakes if _is_in(schedule, wake.time))
    names = [name for time, name in life.names if time < schedule.end]
    return ThreadBook(
        thread=life.thread,
        name=names[-1] if names else "",
        begin=slices[0].begin,
        end=slices[-1].end,
        running=sums["running"],
        runnable=sums["runnable"],
        blocked=sums["blocked"],
        by_phase=tuple(_by_phase(slices, phases)),
        switches=len(leaves),
        wakeups=wakers.total(),
        preemptions=sum(leaves) - yields,
        yields=yields,
        migrations=len(moves),
        moves=_moves(moves, places) if places else None,
        woken_by=tuple(sorted(wakers.items(), key=lambda item: (-item[1], item[0]))),
        unqueued=sums["unqueued"],
    )


def _by_phase(slices: Sequence[ThreadSlice], phases: Sequence[BookPhase]) -> Iterator[PhaseBook]:
    """The phases in which the thread lived."""
    parts = ((part.begin, part.end, (part.state, part.cpu)) for part in slices)
    for name, own in _spent(parts, phases).items():
        if not own:
            continue
        cpus = sorted({cpu for state, cpu in own if state in {"running", "runnable"}})
        sums = Counter[str]()
        for (state, _), length in own.items():
            sums[state] += length
        by_cpu = tuple((cpu, own["running", cpu], own["runnable", cpu]) for cpu in cpus)
        yield PhaseBook(name, sums["running"], sums["runnable"], sums["blocked"], by_cpu, sums["unqueued"])


def _spent(
    parts: Iterable[tuple[int, int, _Spent]], phases: Sequence[BookPhase]
) -> Mapping[str, Counter[_Spent]]:
    """How long each kind of parts, which are (begin, end, kind), lasts in each phase."""
    result = {phase.name: Counter[_Spent]() for phase in phases}
    edges = [(phase.begin, phase.end, result[phase.name]) for phase in phases]
    for begin, end, kind in parts:
        for first, last, own in edges:
            if begin < last and first < end:
                own[kind] += min(end, last) - max(begin, first)
    return result


def _moves(moves: Sequence[tuple[int, int]], places: Sequence[CpuPlace]) -> Mapping[Distance, int]:
    result = Counter(_distance(places[origin], places[cpu]) for origin, cpu in moves)
    return {distance: result[distance] for distance in DISTANCES}


def _distance(place: CpuPlace, other: CpuPlace) -> Distance:
    if (place.socket, place.node) != (other.socket, other.node):
        return "sockets"
    return "near" if place.cluster == other.cluster else "clusters"


def _checked(events: ThreadEvents, books: Sequence[ThreadBook]) -> Iterator[ThreadBook]:
    for book in books:
        _check_phases(events, book)
        if book.running + book.runnable + book.unqueued + book.blocked != book.end - book.begin:
            raise VerifyError(
                f"{events.path}: thread {book.thread} ran for {book.running} ns, waited for {book.runnable}, "
                f"was unqueued for {book.unqueued} and blocked for {book.blocked}, but lived for "
                f"{book.end - book.begin}"
            )
        yield book


def _check_phases(events: ThreadEvents, book: ThreadBook) -> None:
    parts = book.by_phase
    states = ("running", "runnable", "blocked", "unqueued")
    own = tuple(getattr(book, state) for state in states)
    of_phases = tuple(sum(getattr(part, state) for part in parts) for state in states)
    of_cpus = tuple(sum(row[which] for part in parts for row in part.by_cpu) for which in (1, 2))
    if of_phases != own or of_cpus != own[:2]:
        raise VerifyError(
            f"{events.path}: thread {book.thread} ran, waited and was blocked for {own} ns, but for "
            f"{of_phases} in its phases, and it ran and waited for {of_cpus} on its CPUs"
        )


def _cpu_book(
    events: ThreadEvents,
    schedule: Schedule,
    cpu: int,
    wasted: Sequence[WastedStretch],
    phases: Sequence[BookPhase],
) -> CpuBook:
    mine = [stretch for stretch in wasted if stretch.cpu == cpu]
    runs = [(run.begin, run.end, run.thread == IDLE) for run in schedule.runs[cpu]]
    whole = _spent(runs, [BookPhase(WHOLE, schedule.begin, schedule.end)])[WHOLE]
    running, idle = whole[False], whole[True]
    in_phases = _spent(runs, phases)
    lost = _spent([(stretch.begin, stretch.end, True) for stretch in mine], phases)
    by_phase = tuple(
        CpuPhase(name, own[False], own[True], lost[name][True]) for name, own in in_phases.items()
    )
    if running + idle != schedule.end - schedule.begin:
        raise VerifyError(
            f"{events.path}: CPU {cpu} ran threads for {running} ns and idled for {idle}, but the window has "
            f"{schedule.end - schedule.begin}"
        )
    lengths = [stretch.end - stretch.begin for stretch in mine]
    of_phases = tuple(
        sum(getattr(phase, what) for phase in by_phase) for what in ("running", "idle", "wasted")
    )
    if of_phases != (running, idle, sum(lengths)):
        raise VerifyError(
            f"{events.path}: CPU {cpu} ran, idled and wasted {(running, idle, sum(lengths))} ns, but "
            f"{of_phases} in the phases of the window"
        )
    switches = sum(_is_in(schedule, time) for time in schedule.switches[cpu])
    return CpuBook(cpu, running, idle, sum(lengths), max(lengths, default=0), switches, by_phase)


def _queue_steps(schedule: Schedule) -> Iterator[QueueStep]:
    """Of steps at one time of a CPU only the last one counts."""
    at_begin: dict[int, int] = {}
    steps: dict[tuple[int, int], int] = {}
    for time, cpu, length in schedule.lengths:
        if time <= schedule.begin:
            at_begin[cpu] = length
        elif time < schedule.end:
            steps[time, cpu] = length
    for cpu, length in sorted(at_begin.items()):
        yield QueueStep(cpu, schedule.begin, length)
    for (time, cpu), length in sorted(steps.items()):
        yield QueueStep(cpu, time, length)
