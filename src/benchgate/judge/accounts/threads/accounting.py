"""Makes the books of threads from what the guest's scheduler did.

Takes `ThreadEvents`; gives frozen `ThreadBooks`, for the window. Pure. Fails with VerifyError if the events
contradict each other (schedule.py), or if the books do not add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchgate.base.errors import VerifyError
from benchgate.insn.threads_log import IDLE, ThreadEvents
from benchgate.judge.accounts.threads.books import (
    CpuBook,
    QueueStep,
    ThreadBook,
    ThreadBooks,
    ThreadSlice,
    WastedStretch,
    WastedTime,
)
from benchgate.judge.accounts.threads.idleness import find_idleness
from benchgate.judge.accounts.threads.lateness import explain_waits, find_waits
from benchgate.judge.accounts.threads.schedule import Schedule, ThreadLife, repeat_schedule

MOST_WAITS = 10_000


def thread_books(events: ThreadEvents, *, explained: int = MOST_WAITS) -> ThreadBooks:
    """`explained`: how many waits are explained, the longest first."""
    schedule = repeat_schedule(events)
    wasted, excused = find_idleness(schedule)
    waits = find_waits(schedule)
    books, slices = [], []
    for life in sorted(schedule.lives, key=lambda life: (life.thread, life.phases[0].begin)):
        mine = _slices(schedule, life)
        if mine:
            books.append(_book(schedule, life, mine))
            slices += mine
    return ThreadBooks(
        vcpus=schedule.vcpus,
        begin=schedule.begin,
        end=schedule.end,
        is_cut=schedule.is_cut,
        threads=tuple(_checked(events, books)),
        cpus=tuple(_cpu_book(events, schedule, cpu, wasted) for cpu in range(schedule.vcpus)),
        slices=tuple(slices),
        wakes=tuple(
            sorted(
                (wake for life in schedule.lives for wake in life.wakes if _is_in(schedule, wake.time)),
                key=lambda wake: (wake.time, wake.waker_cpu),
            )
        ),
        queues=tuple(_queue_steps(schedule)),
        wasted=wasted,
        excused=excused,
        waits=explain_waits(schedule, waits[:explained]),
        wait_lengths=tuple(wait.length for wait in reversed(waits)),
        longest_waits={schedule.lives[wait.life].thread: wait.length for wait in reversed(waits)},
    )


def conserved(books: ThreadBooks) -> WastedTime:
    return WastedTime(
        time=(books.end - books.begin) * books.vcpus,
        wasted=sum(one.wasted for one in books.cpus),
        longest=max((one.longest_wasted for one in books.cpus), default=0),
        stretches=len(books.wasted),
        excused=sum(one.end - one.begin for one in books.excused),
    )


def _is_in(schedule: Schedule, time: int) -> bool:
    return schedule.begin <= time < schedule.end


def _slices(schedule: Schedule, life: ThreadLife) -> list[ThreadSlice]:
    """The thread's states within the window."""
    return [
        ThreadSlice(life.thread, phase.cpu, begin, end, phase.state)
        for _, phase, begin, end in life.within(schedule.begin, schedule.end)
        if phase.state != "dead"
    ]


def _book(schedule: Schedule, life: ThreadLife, slices: Sequence[ThreadSlice]) -> ThreadBook:
    sums: Counter[str] = Counter()
    by_cpu = [0] * schedule.vcpus
    for part in slices:
        sums[part.state] += part.end - part.begin
        if part.state == "running":
            by_cpu[part.cpu] += part.end - part.begin
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
        running_by_cpu=tuple(by_cpu),
        switches=len(leaves),
        wakeups=wakers.total(),
        preemptions=sum(leaves),
        migrations=sum(_is_in(schedule, time) for time, _, _ in life.moves),
        woken_by=tuple(sorted(wakers.items(), key=lambda item: (-item[1], item[0]))),
    )


def _checked(events: ThreadEvents, books: Sequence[ThreadBook]) -> Iterator[ThreadBook]:
    for book in books:
        if book.running + book.runnable + book.blocked != book.end - book.begin:
            raise VerifyError(
                f"{events.path}: thread {book.thread} ran for {book.running} ns, waited for {book.runnable} "
                f"and was blocked for {book.blocked}, but lived for {book.end - book.begin}"
            )
        yield book


def _cpu_book(events: ThreadEvents, schedule: Schedule, cpu: int, wasted: Sequence[WastedStretch]) -> CpuBook:
    running = idle = 0
    for run in schedule.runs[cpu]:
        length = max(0, min(run.end, schedule.end) - max(run.begin, schedule.begin))
        if run.thread == IDLE:
            idle += length
        else:
            running += length
    if running + idle != schedule.end - schedule.begin:
        raise VerifyError(
            f"{events.path}: CPU {cpu} ran threads for {running} ns and idled for {idle}, but the window has "
            f"{schedule.end - schedule.begin}"
        )
    lengths = [one.end - one.begin for one in wasted if one.cpu == cpu]
    switches = sum(_is_in(schedule, time) for time in schedule.switches[cpu])
    return CpuBook(cpu, running, idle, sum(lengths), max(lengths, default=0), switches)


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
