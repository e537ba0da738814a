"""The story of a run on the instruction clock: its log, its console's lines, and the events of a replay.

Takes the run's files; gives parts of a story in guest time. With `events.txt`, which only a replay has, each
turn, halt and wake-up is there; otherwise the shares of each vCPU by column. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchgate.base.errors import VerifyError
from benchgate.base.text import one_line
from benchgate.insn.activity import Activity
from benchgate.insn.events import Events, Halt, read_events
from benchgate.insn.log import ClockLog, MarkKind
from benchgate.judge.accounts.story import words
from benchgate.judge.accounts.story.threads import threads_part
from benchgate.judge.accounts.story.words import Arrow, Counter, Instant, Story, StorySpan, Track, told
from benchgate.judge.accounts.threads.accounting import books_of_run
from benchgate.judge.run_files import EVENTS, RunFiles

_MARKS: Mapping[int, str] = {
    MarkKind.WORK_BEGIN: "work begins",
    MarkKind.WORK_END: "work ends",
    MarkKind.TOTAL_BEGIN: "total begins",
    MarkKind.TOTAL_END: "total ends",
}


def parts(files: RunFiles) -> Iterator[Story]:
    if files.run.clock_log is None:
        yield Story(notes=("the run has no log of the instruction clock",))
        return
    try:
        log = files.clock_log
    except VerifyError as error:
        yield Story(notes=(str(error),))
        return
    if log.problem:
        yield Story(notes=(log.problem,))
    yield _marks(log)
    yield told(lambda: _console(files, log))
    yield told(lambda: _workers(files, log), "no workers: ")
    yield told(lambda: _threads(files))
    yield from _vcpus(files, log)


def vcpu(number: int) -> Track:
    return Track("vCPUs", f"vCPU {number}")


def _marks(log: ClockLog) -> Story:
    named = [(_MARKS.get(mark.kind, f"mark {mark.kind:#04x}"), mark) for mark in log.marks]
    return Story(instants=tuple(Instant(vcpu(mark.vcpu), name, mark.time) for name, mark in named))


def _console(files: RunFiles, log: ClockLog) -> Story:
    """The lines whose times are known: only of a system without marks."""
    track, begin, instants = Track("console", "printed"), 0, []
    if not log.lines:
        return Story()
    for line in log.lines:
        if text := one_line(files.console[begin : line.end]):
            instants.append(Instant(track, text, line.time))
        begin = line.end
    typed = Track("console", "typed")
    inputs = [Instant(typed, f"{of.count} bytes are typed", of.time) for of in log.inputs]
    return Story(instants=(*instants, *inputs))


def _workers(files: RunFiles, log: ClockLog) -> Story:
    """The guest's clock counts from elsewhere, so its total window is laid on the marks of it."""
    begin, end = map(log.first_mark, (MarkKind.TOTAL_BEGIN, MarkKind.TOTAL_END))
    if begin is None or end is None or end <= begin:
        return Story()
    return words.workers_part(files.transcript, begin, end)


def _threads(files: RunFiles) -> Story:
    """Only of a run whose threads were recorded."""
    books = books_of_run(files, explained=0)
    return threads_part(books) if books else Story()


def _vcpus(files: RunFiles, log: ClockLog) -> Iterator[Story]:
    path = files.run.folder / EVENTS
    if path.exists():
        try:
            seen = read_events(path)
        except VerifyError as error:
            yield Story(notes=(str(error),))
        else:
            yield _events(seen)
            return
    if log.activity:
        yield _columns(log.activity)
    else:
        yield Story(notes=("the clock's log does not say what the vCPUs did",))


def _columns(seen: Activity) -> Story:
    """The last value ends with the window."""
    counters = []
    for number, lane in enumerate(seen.vcpus):
        for at, column in enumerate(lane):
            shares = {"works": column.worked, "spins": column.spun, "halted": column.halted}
            values = {name: round(100 * share, 1) for name, share in shares.items()}
            counters.append(Counter(vcpu(number), seen.begin + at * seen.width, values))
        counters.append(Counter(vcpu(number), seen.end, {"works": 0, "spins": 0, "halted": 0}))
    note = (
        f"vCPUs by columns of {seen.width} ns, in percent; each turn and wake-up: "
        "`benchgate replay RUN --timeline`"
    )
    return Story(counters=tuple(counters), notes=(note,))


def _events(seen: Events) -> Story:
    spans = [
        StorySpan(vcpu(of.vcpu), "works" if of.works else "spins", of.begin, of.end) for of in seen.turns
    ]
    spans += [_halt(halt) for halt in seen.halts if halt.begin < halt.end]
    kicks = (Instant(vcpu(of.vcpu), f"interrupted by {_sender(of.by)}", of.time) for of in seen.kicks)
    full = f"the file of events was full at {seen.full} ns; what came later is missing"
    return Story(
        spans=tuple(sorted(spans, key=lambda span: (span.begin, span.end))),
        arrows=tuple(_woken(halt) for halt in seen.halts if halt.by is not None),
        instants=tuple(kicks),
        notes=() if seen.full is None else (full,),
    )


def _halt(halt: Halt) -> StorySpan:
    waker = _sender(halt.by) if halt.is_woken else "nobody before the window closed"
    return StorySpan(vcpu(halt.vcpu), "halted", halt.begin, halt.end, {"woken by": waker})


def _woken(halt: Halt) -> Arrow:
    assert halt.by is not None  # see _events
    return Arrow("wakes", vcpu(halt.by), halt.end, vcpu(halt.vcpu), halt.end)


def _sender(by: int | None) -> str:
    return "a timer or device" if by is None else f"vCPU {by}"
