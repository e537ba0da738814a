"""What a picture of threads needs, by hand: boxes, heights, queues, wasted columns, what is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from benchgate.judge.accounts.thread_sketch import (
    COLUMNS,
    MOST_ARROWS,
    MOST_CPUS,
    MOST_CROSSED,
    MOST_ROWS,
    LaneBox,
    RowBox,
    SketchRow,
    WakeArrow,
    busiest,
    sketch,
)
from benchgate.judge.accounts.threads.books import (
    QueueStep,
    ThreadBook,
    ThreadBooks,
    ThreadSlice,
    ThreadWake,
    WastedStretch,
)

ZERO = 1_000
"""When the window begins. It is as many ns long as the picture has columns."""
LENGTH = COLUMNS[0]
State = Literal["running", "runnable", "blocked"]


def piece(thread: int, begin: int, end: int, state: State = "running", cpu: int = 0) -> ThreadSlice:
    return ThreadSlice(thread, cpu, ZERO + begin, ZERO + end, state)


def book(thread: int, running: int = 1, runnable: int = 0, **changes: object) -> ThreadBook:
    made = ThreadBook(
        *(thread, f"t{thread}", ZERO, ZERO + LENGTH, running, runnable, 0, ()),
        *(0, 0, 0, 0, 0, None, ()),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def books(*slices: ThreadSlice, length: int = LENGTH, vcpus: int = 2, **changes: object) -> ThreadBooks:
    threads = tuple(book(number) for number in sorted({thread_slice.thread for thread_slice in slices}))
    facts: dict[str, object] = {"threads": threads, "slices": slices, "end": ZERO + length}
    nothing = dict.fromkeys(
        ("phases", "cpus", "wakes", "queues", "wasted", "excused", "waits", "wait_lengths"), ()
    )
    return ThreadBooks(vcpus=vcpus, begin=ZERO, is_cut=False, **{**nothing, **facts, **changes})  # type: ignore[arg-type]


def wake(time: int, source: int, target: int) -> ThreadWake:
    return ThreadWake(ZERO + time, 7, source, 1, target, ())


def test_slices_that_touch_are_boxes_and_idle_time_is_none() -> None:
    given = (piece(1, 0, 300), piece(2, 300, 400), piece(3, 5, 10, cpu=1), piece(3, 20, 30, cpu=1))
    seen = sketch(books(*given), 100)
    assert (seen.length, seen.columns) == (LENGTH, LENGTH)
    assert seen.lanes[0] == (LaneBox(1, 0, 300, 4), LaneBox(2, 300, 400, 4))
    assert seen.lanes[1] == (LaneBox(3, 5, 10, 4), LaneBox(3, 20, 30, 4))


def test_a_column_shows_who_ran_longest_and_how_busy_it_was() -> None:
    """Columns of 8 ns: the first one is busy for 3 + 4 ns, the second one for 1, which is not nothing."""
    given = books(piece(1, 0, 3), piece(2, 3, 7), piece(1, 8, 9), length=8 * LENGTH)
    assert sketch(given, 100).lanes[0] == (LaneBox(2, 0, 1, 4), LaneBox(1, 1, 2, 1))
    half = books(piece(1, 0, 4), length=8 * LENGTH)
    assert sketch(half, 100).lanes[0] == (LaneBox(1, 0, 1, 2),)


def test_a_blocked_thread_and_one_that_waits_have_no_box_on_a_cpu() -> None:
    assert sketch(books(piece(1, 0, 9, "blocked"), piece(2, 0, 9, "runnable")), 100).lanes == ((), ())


def test_too_many_boxes_make_columns_wider() -> None:
    """Two threads alternate each ns. If 444 boxes fit, columns have two ns, and the first thread is shown."""
    slices = [piece(1 + at % 2, at, at + 1) for at in range(LENGTH)]
    seen = sketch(books(*slices, threads=()), LENGTH // 2)
    assert seen.columns == LENGTH // 2
    assert seen.lanes[0] == (LaneBox(1, 0, LENGTH // 2, 4),)
    assert sketch(books(*slices, threads=()), LENGTH).columns == LENGTH


def test_a_thread_runs_waits_and_is_blocked() -> None:
    given = books(
        piece(1, 0, 10), piece(1, 10, 15, "runnable"), piece(1, 15, 40, "blocked"), piece(1, 40, 50, cpu=1)
    )
    boxes = (RowBox(0, 10, 4, 0, 0), RowBox(10, 15, 0, 4, None), RowBox(40, 50, 4, 0, 1))
    assert sketch(given, 100).rows == (SketchRow(1, 0, LENGTH, boxes),)


def test_two_lives_of_one_id_are_two_rows() -> None:
    first, second = book(1, begin=ZERO, end=ZERO + 10), book(1, begin=ZERO + 20, end=ZERO + 30)
    seen = sketch(books(piece(1, 0, 10), piece(1, 20, 30), threads=(first, second)), 100)
    assert [(row.begin, row.end) for row in seen.rows] == [(0, 10), (20, 30)]
    assert [row.boxes[0].begin for row in seen.rows] == [0, 20]
    assert [len(row.boxes) for row in seen.rows] == [1, 1]


def test_wasted_time_is_at_least_a_column_and_touching_stretches_are_one() -> None:
    def stretch(begin: int, end: int) -> WastedStretch:
        return WastedStretch(1, ZERO + begin, ZERO + end, (1,), None, is_pinned=False)

    given = books(length=8 * LENGTH, wasted=(stretch(1, 2), stretch(8, 12), stretch(800, 816)))
    assert sketch(given, 100).wasted == ((), ((0, 2), (100, 102)))


def test_a_queue_has_its_longest_length_in_each_column() -> None:
    """In the first column of 8 ns it is 1, 5, and 2, which is left."""
    steps = [(0, 1), (2, 5), (4, 2), (80, 0)]
    queues = tuple(QueueStep(0, ZERO + time, length) for time, length in steps)
    seen = sketch(books(length=8 * LENGTH, queues=queues), 100)
    assert seen.queues == (((0, 5), (1, 2), (10, 0)), ())
    assert seen.longest_queue == 5
    assert sketch(books(), 100).queues == ()


def test_what_was_left_in_a_queue_counts_in_the_next_step_s_column() -> None:
    """5 until 84 ns, so also in the column from 80 to 88; then 1."""
    queues = (QueueStep(0, ZERO, 5), QueueStep(0, ZERO + 84, 1))
    assert sketch(books(length=8 * LENGTH, queues=queues), 100).queues[0] == ((0, 5), (11, 1))


def test_arrows_are_wake_ups_to_another_cpu_and_every_n_th_of_too_many() -> None:
    same, other = wake(3, 1, 1), wake(9, 0, 1)
    seen = sketch(books(wakes=(same, other)), 100)
    assert (seen.crossing, seen.arrows) == (1, (WakeArrow(9, 0, 1),))
    many = sketch(books(wakes=tuple(wake(at, 0, 1) for at in range(MOST_ARROWS * 2 + 1))), 100)
    assert many.crossing == MOST_ARROWS * 2 + 1
    assert [arrow.time for arrow in many.arrows] == list(range(0, MOST_ARROWS * 2 + 1, 3))


def test_of_very_many_cpus_the_first_are_drawn() -> None:
    given = (piece(1, 0, 9, cpu=70), piece(2, 0, 9, cpu=3))
    queues = (QueueStep(70, ZERO, 2), QueueStep(3, ZERO, 1))
    seen = sketch(books(*given, vcpus=200, queues=queues, wakes=(wake(1, 0, 70), wake(1, 0, 3))), 100)
    assert len(seen.lanes) == len(seen.queues) == len(seen.wasted) == MOST_CPUS
    assert [box.thread for lane in seen.lanes for box in lane] == [2]
    assert (seen.longest_queue, seen.crossing) == (1, 1)


def test_long_arrows_are_fewer() -> None:
    far = sketch(books(vcpus=32, wakes=tuple(wake(at, 0, 31) for at in range(MOST_ARROWS))), 100)
    assert 0 < 31 * len(far.arrows) <= MOST_CROSSED


def test_those_that_run_and_those_that_wait_are_shown() -> None:
    workers = [book(number, running=1000 + number) for number in range(1, 40)]
    waits = book(99, running=1, runnable=5000)
    shown = [
        thread_book.thread for thread_book in busiest([*workers, waits, book(0, running=10**9)], MOST_ROWS)
    ]
    assert len(shown) == MOST_ROWS
    assert shown == sorted(shown)
    assert {99, 39, 38} <= set(shown)
    assert 0 not in shown
    assert busiest([book(5, running=0)], MOST_ROWS) == []


@pytest.mark.parametrize("length", [1, 7, 887, 10**12])
def test_a_window_of_any_length_has_a_sketch(length: int) -> None:
    seen = sketch(books(piece(1, 0, length), length=length), 100)
    assert all(0 <= lane.begin < lane.end <= seen.columns for lane in seen.lanes[0])
    assert sketch(books(length=0), 100).lanes == ((), ())
