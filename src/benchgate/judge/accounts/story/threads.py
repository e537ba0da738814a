"""The threads of the guest in a story: who ran on each CPU, the states of each thread, who woke whom.

Takes a run's books of threads; gives tracks of CPUs, of threads, of wasted time and of queue lengths. Times
are the guest's, as everywhere on the instruction clock. Does not fail.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from benchgate.base.text import first_few
from benchgate.judge.accounts.story.words import Arrow, Counter, Story, StorySpan, Track
from benchgate.judge.accounts.thread_timeline import names_of
from benchgate.judge.accounts.threads.books import ThreadBooks, ThreadSlice, ThreadWake, WastedStretch

CPUS, THREADS, WASTED, QUEUES = "CPUs", "threads", "idle CPUs while threads wait", "queue lengths"
MOST_NAMED = 8

Names = Mapping[int, str]


def threads_part(books: ThreadBooks) -> Story:
    """Tracks appear in the order of their spans: first the CPUs, then the threads by their ids."""
    names = names_of(books.threads)
    running = sorted(
        (one for one in books.slices if one.state == "running"), key=lambda one: (one.cpu, one.begin)
    )
    queues = [
        Counter(Track(QUEUES, f"CPU {queue.cpu}"), queue.time, {"threads": queue.length})
        for queue in books.queues
    ]
    cut = f"the record of threads was full at {books.end} ns; what came later is missing"
    return Story(
        spans=(
            *(_run(one, names) for one in running),
            *(_wasted(one, names) for one in books.wasted),
            *_states(books, names),
        ),
        arrows=tuple(_arrows(books.wakes, running)),
        counters=tuple(queues),
        notes=(cut,) if books.is_cut else (),
    )


def cpu(number: int) -> Track:
    return Track(CPUS, f"CPU {number}")


def _run(one: ThreadSlice, names: Names) -> StorySpan:
    return StorySpan(cpu(one.cpu), _name(one.thread, names), one.begin, one.end, {"id": one.thread})


def _name(thread: int, names: Names) -> str:
    return names.get(thread, f"thread {thread}")


def _wasted(stretch: WastedStretch, names: Names) -> StorySpan:
    waiting = first_few([_name(thread, names) for thread in stretch.threads], MOST_NAMED)
    return StorySpan(Track(WASTED, f"CPU {stretch.cpu}"), f"wasted: {waiting}", stretch.begin, stretch.end)


def _states(books: ThreadBooks, names: Names) -> Iterator[StorySpan]:
    """What each thread did; of a wait after a wake-up also who woke it."""
    woken: dict[int, list[ThreadWake]] = defaultdict(list)
    for wake in sorted(books.wakes, key=lambda one: one.time):
        woken[wake.thread].append(wake)
    before: ThreadSlice | None = None
    for piece in books.slices:
        was_blocked = before is None or before.thread != piece.thread or before.state == "blocked"
        more: dict[str, str | int] = {"cpu": piece.cpu}
        if piece.state == "runnable" and was_blocked:
            wakes = woken[piece.thread]
            place = bisect_right(wakes, piece.begin, key=lambda one: one.time)
            more |= _woken_by(wakes[place - 1], names) if place else {}
        track = Track(THREADS, f"{_name(piece.thread, names)} [{piece.thread}]")
        yield StorySpan(track, piece.state, piece.begin, piece.end, more)
        before = piece


def _woken_by(wake: ThreadWake, names: Names) -> Mapping[str, str | int]:
    by = _name(wake.waker, names) if wake.waker else "an interrupt"
    return {"woken by": f"{by} on CPU {wake.waker_cpu}"}


def _arrows(wakes: Sequence[ThreadWake], running: Sequence[ThreadSlice]) -> Iterator[Arrow]:
    """From the slice of the waker to the next one of the thread. A viewer draws an arrow between two slices
    only, and a CPU that was idle has none."""
    on_cpu: dict[int, list[ThreadSlice]] = defaultdict(list)
    of_thread: dict[int, list[ThreadSlice]] = defaultdict(list)
    for one in running:
        on_cpu[one.cpu].append(one)
        of_thread[one.thread].append(one)
    for mine in of_thread.values():
        mine.sort(key=lambda one: one.begin)
    for wake in wakes:
        mine = of_thread[wake.thread]
        place = bisect_left(mine, wake.time, key=lambda one: one.begin)
        if place < len(mine) and _runs_at(on_cpu[wake.waker_cpu], wake.time):
            runs = mine[place]
            yield Arrow("wakes", cpu(wake.waker_cpu), wake.time, cpu(runs.cpu), runs.begin)


def _runs_at(slices: Sequence[ThreadSlice], time: int) -> bool:
    place = bisect_right(slices, time, key=lambda one: one.end)
    return place < len(slices) and slices[place].begin <= time
