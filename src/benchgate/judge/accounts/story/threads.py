"""The threads of the guest in a story: who ran on each CPU, the states of each thread, who woke whom.

Takes a run's books of threads; gives tracks of CPUs, of threads, of wasted time and of queue lengths. Times
are the guest's, as everywhere on the instruction clock. Does not fail.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence

from benchgate.base import grouped
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
    running = [piece for piece in books.slices if piece.state == "running"]
    running.sort(key=lambda piece: (piece.cpu, piece.begin))
    queues = [Counter(Track(QUEUES, f"CPU {of.cpu}"), of.time, {"threads": of.length}) for of in books.queues]
    cut = f"the record of threads was full at {books.end} ns; what came later is missing"
    ran = (_run(thread_slice, names) for thread_slice in running)
    wasted = (_wasted(stretch, names) for stretch in books.wasted)
    return Story(
        spans=(*ran, *wasted, *_states(books, names)),
        arrows=tuple(_arrows(books.wakes, running)),
        counters=tuple(queues),
        notes=(cut,) if books.is_cut else (),
    )


def cpu(number: int) -> Track:
    return Track(CPUS, f"CPU {number}")


def _run(of: ThreadSlice, names: Names) -> StorySpan:
    return StorySpan(cpu(of.cpu), _name(of.thread, names), of.begin, of.end, {"id": of.thread})


def _name(thread: int, names: Names) -> str:
    return names.get(thread, f"thread {thread}")


def _wasted(stretch: WastedStretch, names: Names) -> StorySpan:
    waiting = first_few([_name(thread, names) for thread in stretch.threads], MOST_NAMED)
    return StorySpan(Track(WASTED, f"CPU {stretch.cpu}"), f"wasted: {waiting}", stretch.begin, stretch.end)


def _states(books: ThreadBooks, names: Names) -> Iterator[StorySpan]:
    """What each thread did; of a wait after a wake-up also who woke it."""
    wakes_in_time = sorted(books.wakes, key=lambda thread_wake: thread_wake.time)
    woken = grouped(wakes_in_time, key=lambda thread_wake: thread_wake.thread)
    before: ThreadSlice | None = None
    for piece in books.slices:
        was_blocked = before is None or before.thread != piece.thread or before.state == "blocked"
        more: dict[str, str | int] = {"cpu": piece.cpu}
        if piece.state == "runnable" and was_blocked:
            wakes = woken.get(piece.thread, [])
            place = bisect_right(wakes, piece.begin, key=lambda thread_wake: thread_wake.time)
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
    by_time = sorted(running, key=lambda thread_slice: thread_slice.begin)
    on_cpu = grouped(running, key=lambda thread_slice: thread_slice.cpu)
    of_thread = grouped(by_time, key=lambda thread_slice: thread_slice.thread)
    for wake in wakes:
        mine = of_thread.get(wake.thread, [])
        place = bisect_left(mine, wake.time, key=lambda thread_slice: thread_slice.begin)
        if place < len(mine) and _runs_at(on_cpu.get(wake.waker_cpu, []), wake.time):
            runs = mine[place]
            yield Arrow("wakes", cpu(wake.waker_cpu), wake.time, cpu(runs.cpu), runs.begin)


def _runs_at(slices: Sequence[ThreadSlice], time: int) -> bool:
    place = bisect_right(slices, time, key=lambda thread_slice: thread_slice.end)
    return place < len(slices) and slices[place].begin <= time
