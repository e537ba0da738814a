"""The books of threads: those of a small schedule by hand, and those of random ones by a model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.log import ClockMark, MarkKind
from benchgate.insn.machine_shape import CpuPlace
from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads import accounting, idleness
from benchgate.judge.accounts.threads.accounting import phases_between, thread_books
from benchgate.judge.accounts.threads.books import (
    BookPhase,
    CpuBook,
    CpuPhase,
    PhaseBook,
    QueueStep,
    ThreadBook,
    ThreadBooks,
    ThreadSlice,
    ThreadWake,
    WastedStretch,
)
from tests.threadsim import SimulatedGuest

FILE = """insn-threads 1
vcpus 2
fork 0 100 10 1 6d61696e
wake 0 110 10 0 2 ff10,ff20
open 1000
switch 0 1000 1 b 10 1
fork 0 1200 11 10 776f726b
wake 0 1300 11 0 2 -
switch 0 2000 10 r 11 2
wake 1 2500 1 1 1 -
switch 1 2600 0 r 1 1
switch 1 3000 1 b 0 0
migrate 1 3100 10 0 1
switch 1 3200 0 r 10 1
exit 0 3500 11
switch 0 3600 11 d 0 0
close 4000
end 5000
"""
"""Thread 10 makes 11, which preempts it and exits; 10 is then moved to CPU 1, which idled."""


def books_of(
    text: str, folder: Path, marks: Sequence[ClockMark] = (), places: Sequence[CpuPlace] = ()
) -> ThreadBooks:
    path = folder / "threads.txt"
    path.write_text(text, encoding="ascii")
    return thread_books(read_thread_events(path), marks, places)


def whole(running: int, runnable: int, blocked: int, *by_cpu: tuple[int, int, int]) -> tuple[PhaseBook, ...]:
    """Without marks the whole window is one phase."""
    return (PhaseBook("whole", running, runnable, blocked, by_cpu),)


def test_the_books_of_a_small_schedule(tmp_path: Path) -> None:
    books = books_of(FILE, tmp_path)
    assert (books.vcpus, books.begin, books.end, books.is_cut) == (2, 1000, 4000, False)
    # id, name, life; ran, waited, blocked, and on which CPUs; switches, wake-ups, preemptions, yields, moves;
    # wakers
    first = whole(400, 100, 2500, (1, 400, 100))
    main = whole(1800, 1200, 0, (0, 1000, 1100), (1, 800, 100))
    work = whole(1600, 700, 100, (0, 1600, 700))
    assert books.threads == (
        ThreadBook(1, "", 1000, 4000, 400, 100, 2500, first, 2, 1, 0, 0, 1, None, ((0, 1),)),
        ThreadBook(10, "main", 1000, 4000, 1800, 1200, 0, main, 1, 0, 1, 0, 1, None, ()),
        ThreadBook(11, "work", 1200, 3600, 1600, 700, 100, work, 1, 1, 0, 0, 0, None, ((10, 1),)),
    )
    # CPU 1 idles from 1000 to 2600 and from 3000 to 3200. From 1300 (11 is woken) a thread waits on CPU 0;
    # from 2500 thread 1 is on its own queue, and at 3100 thread 10 comes to it
    assert books.cpus == (
        CpuBook(0, 2600, 400, 0, 0, 3, (CpuPhase("whole", 2600, 400, 0),)),
        CpuBook(1, 1200, 1800, 1300, 1200, 3, (CpuPhase("whole", 1200, 1800, 1300),)),
    )
    wake = ThreadWake(1300, 10, 0, 11, 0, ())
    assert books.wakes == (wake, ThreadWake(2500, 0, 1, 1, 1, ()))
    assert books.wasted == (
        WastedStretch(1, 1300, 2500, (11, 10), wake, is_pinned=False, began="started"),
        WastedStretch(1, 3000, 3100, (10,), None, is_pinned=False, began="preempted"),
    )
    assert books.excused == ()
    assert books.wait_lengths == (100, 700, 1200)
    assert [(wait.thread, wait.begin, wait.end) for wait in books.waits] == [
        (10, 2000, 3200),
        (11, 1300, 2000),
        (1, 2500, 2600),
    ]


MARKS = (
    ClockMark(MarkKind.TOTAL_BEGIN, 0, 1000),
    ClockMark(MarkKind.WORK_BEGIN, 0, 1500),
    ClockMark(MarkKind.WORK_BEGIN, 1, 1600),
    ClockMark(MarkKind.WORK_END, 1, 2400),
    ClockMark(MarkKind.WORK_END, 0, 3150),
    ClockMark(MarkKind.TOTAL_END, 0, 4000),
)


def test_the_books_by_phase_and_cpu(tmp_path: Path) -> None:
    books = books_of(FILE, tmp_path, MARKS)
    assert books.phases == (
        BookPhase("spawn_ready", 1000, 1500),
        BookPhase("work", 1500, 3150),
        BookPhase("shutdown", 3150, 4000),
    )
    main = next(book for book in books.threads if book.thread == 10)
    assert main.by_phase == (
        PhaseBook("spawn_ready", 500, 0, 0, ((0, 500, 0),)),
        PhaseBook("work", 500, 1150, 0, ((0, 500, 1100), (1, 0, 50))),
        PhaseBook("shutdown", 800, 50, 0, ((1, 800, 50),)),
    )
    made_later = next(book for book in books.threads if book.thread == 11)
    assert [book.phase for book in made_later.by_phase] == ["spawn_ready", "work", "shutdown"]
    assert made_later.by_phase[0] == PhaseBook("spawn_ready", 0, 200, 100, ((0, 0, 200),))
    assert books.cpus[1].by_phase == (
        CpuPhase("spawn_ready", 0, 500, 200),
        CpuPhase("work", 400, 1250, 1100),
        CpuPhase("shutdown", 800, 50, 0),
    )


def test_phases_are_within_the_window_and_none_is_empty() -> None:
    def of(*marks: tuple[MarkKind, int]) -> list[tuple[str, int, int]]:
        phases = phases_between([ClockMark(kind, 0, time) for kind, time in marks], 100, 900)
        return [(phase.name, phase.begin, phase.end) for phase in phases]

    assert of() == of((MarkKind.WORK_BEGIN, 300)) == [("whole", 100, 900)]
    begin, end = MarkKind.WORK_BEGIN, MarkKind.WORK_END
    assert of((begin, 90), (end, 950)) == [("work", 100, 900)]
    assert of((begin, 300), (end, 950)) == [("spawn_ready", 100, 300), ("work", 300, 900)]
    # a record that became full before the work
    assert of((begin, 950), (end, 990)) == [("spawn_ready", 100, 900)]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_phases_that_are_not_the_whole_are_refused(
    lost: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any) -> tuple[BookPhase, ...]:
        phases = phases_between(*given)
        return phases[:lost] + phases[lost + 1 :]

    monkeypatch.setattr(accounting, "phases_between", broken)
    with pytest.raises(VerifyError, match=r"threads\.txt: thread 1 ran, waited and was blocked for"):
        books_of(FILE, tmp_path, MARKS)


def test_cpus_whose_phases_are_not_the_whole_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounting, "_check_phases", lambda *_: None)
    monkeypatch.setattr(accounting, "phases_between", lambda *_: (BookPhase("work", 1000, 3999),))
    with pytest.raises(VerifyError, match=r"CPU 0 ran, idled and wasted .* in the phases of the window"):
        books_of(FILE, tmp_path)


@pytest.mark.parametrize(
    ("second", "moves"),
    [
        (CpuPlace(0, 0, 0), {"near": 1, "clusters": 0, "sockets": 0}),
        (CpuPlace(1, 0, 0), {"near": 0, "clusters": 1, "sockets": 0}),
        (CpuPlace(1, 1, 0), {"near": 0, "clusters": 0, "sockets": 1}),
        (CpuPlace(1, 0, 1), {"near": 0, "clusters": 0, "sockets": 1}),
    ],
)
def test_migrations_are_told_apart_by_how_far_they_go(
    second: CpuPlace, moves: dict[str, int], tmp_path: Path
) -> None:
    books = books_of(FILE, tmp_path, (), (CpuPlace(0, 0, 0), second))
    assert [(thread.migrations, thread.moves) for thread in books.threads] == [
        (1, moves),
        (1, moves),
        (0, dict.fromkeys(moves, 0)),
    ]


def test_a_machine_with_another_number_of_cpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="has 2 vCPUs, but the run's machine has 1"):
        books_of(FILE, tmp_path, (), (CpuPlace(0, 0, 0),))


def test_a_thread_that_gives_way_is_not_preempted(tmp_path: Path) -> None:
    books = books_of(FILE.replace("switch 0 2000", "yield 0 1990\nswitch 0 2000"), tmp_path)
    main = next(book for book in books.threads if book.thread == 10)
    assert (main.switches, main.preemptions, main.yields) == (1, 0, 1)


def test_the_slices_and_queues_of_a_small_schedule(tmp_path: Path) -> None:
    books = books_of(FILE, tmp_path)
    assert [thread_slice for thread_slice in books.slices if thread_slice.thread == 10] == [
        ThreadSlice(10, 0, 1000, 2000, "running"),
        ThreadSlice(10, 0, 2000, 3100, "runnable"),
        ThreadSlice(10, 1, 3100, 3200, "runnable"),
        ThreadSlice(10, 1, 3200, 4000, "running"),
    ]
    assert [queue for queue in books.queues if queue.cpu == 1] == [
        QueueStep(1, 1000, 0),
        QueueStep(1, 2500, 1),
        QueueStep(1, 3000, 0),
        QueueStep(1, 3100, 1),
    ]


def test_a_pinned_thread_excuses_an_idle_cpu(tmp_path: Path) -> None:
    pinned = FILE.replace("open 1000", "allow 0 900 10 1\nopen 1000").replace(
        "wake 0 1300", "allow 0 1250 11 1\nwake 0 1300"
    )
    pinned = pinned.replace("migrate 1 3100 10 0 1\nswitch 1 3200 0 r 10 1\n", "").replace(
        "11 d 0 0", "11 d 10 1"
    )
    books = books_of(pinned, tmp_path)
    assert books.wasted == ()
    assert [(stretch.cpu, stretch.begin, stretch.end, stretch.threads) for stretch in books.excused] == [
        (1, 1300, 2500, (11, 10)),
        (1, 3000, 3600, (10,)),
    ]
    assert all(stretch.is_pinned for stretch in books.excused)


def test_a_window_without_marks_is_the_whole_run(tmp_path: Path) -> None:
    books = books_of(FILE.replace("open 1000\n", "").replace("close 4000\n", ""), tmp_path)
    assert (books.begin, books.end) == (0, 5000)
    killed = FILE.replace("open 1000\n", "").replace("close 4000\nend 5000\n", "")
    assert books_of(killed, tmp_path).end == 3600


def test_books_end_where_the_record_became_full(tmp_path: Path) -> None:
    full = FILE.replace("exit 0 3500 11\nswitch 0 3600 11 d 0 0", "full 3400")
    books = books_of(full, tmp_path)
    assert (books.end, books.is_cut) == (3400, True)
    assert not books_of(FILE.replace("close 4000", "close 4000\nfull 4500"), tmp_path).is_cut


@pytest.mark.parametrize("seed", range(60))
def test_the_books_of_random_schedules_are_those_of_the_model(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = random.Random(seed).choice((0, 3, 10, 10**6))
    monkeypatch.setattr(idleness, "SETTLE", settle)
    guest = SimulatedGuest(seed, cpus=1 + seed % 4, settle=settle)
    text = guest.run()
    kinds = zip((MarkKind.WORK_BEGIN, MarkKind.WORK_END), guest.works, strict=True)
    books = books_of(text, tmp_path, [ClockMark(kind, 0, time) for kind, time in kinds])
    window = guest.closes - guest.opens
    for book in books.threads:
        states = ("running", "runnable", "unqueued", "blocked")
        counted = tuple(guest.states[book.thread, state] for state in states)
        assert tuple(getattr(book, state) for state in states) == counted, book
        assert book.end - book.begin == sum(counted)
        for part in book.by_phase:
            spent = [
                [guest.parts[part.phase, book.thread, state, cpu] for cpu in range(guest.cpus)]
                for state in states
            ]
            assert tuple(getattr(part, state) for state in states) == tuple(map(sum, spent))
            assert part.by_cpu == tuple(
                (cpu, *both) for cpu, both in enumerate(zip(*spent[:2], strict=True)) if any(both)
            )
        assert book.switches == guest.counts["switch", book.thread]
        assert book.preemptions + book.yields == guest.counts["preempted", book.thread]
        assert book.wakeups == guest.counts["wake", book.thread] == sum(count for _, count in book.woken_by)
    lived = {thread for (thread, state), length in guest.states.items() if length and state != "dead"}
    assert {book.thread for book in books.threads} == lived
    for cpu in books.cpus:
        assert (cpu.idle, cpu.running) == (guest.idle[cpu.cpu], window - guest.idle[cpu.cpu])
        assert cpu.wasted == guest.wasted[cpu.cpu]
        assert _excused(books, cpu.cpu) == guest.excused[cpu.cpu]
    assert sum(books.wait_lengths) == sum(thread.runnable + thread.unqueued for thread in books.threads)
    assert sum(books.settles) == guest.settling


@pytest.mark.parametrize("seed", range(60))
def test_a_record_of_today_gives_no_thread_more_time_to_settle(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only one that is woken has any, and only once: so no CPU wastes less than by the rule of before."""
    monkeypatch.setattr(idleness, "SETTLE", random.Random(seed).choice((0, 3, 10, 10**6)))
    text = SimulatedGuest(seed, cpus=1 + seed % 4).run()
    before, today = books_of(text, tmp_path), books_of(text.replace("threads 2", "threads 4", 1), tmp_path)
    charged = [[cpu.wasted + _excused(books, cpu.cpu) for cpu in books.cpus] for books in (before, today)]
    assert all(old <= new for old, new in zip(*charged, strict=True)), charged
    assert sum(today.settles) <= sum(before.settles)


def _excused(books: ThreadBooks, cpu: int) -> int:
    return sum(stretch.end - stretch.begin for stretch in books.excused if stretch.cpu == cpu)


def test_the_model_makes_what_it_shall_find() -> None:
    guests = [SimulatedGuest(seed, cpus=1 + seed % 4, settle=3) for seed in range(60)]
    for guest in guests:
        guest.run()
    assert sum(sum(guest.wasted.values()) > 0 for guest in guests) > 20
    assert sum(sum(guest.excused.values()) > 0 for guest in guests) > 20
    assert any("migrate" in line for guest in guests for line in guest.lines)
    states = [(state, times) for guest in guests for (_, state), times in guest.states.items()]
    assert sum(times > 0 for state, times in states if state == "unqueued") > 60
    assert sum(guest.settling > 0 for guest in guests) > 20


@pytest.mark.parametrize("seed", range(8))
def test_a_schedule_with_a_missing_line_is_refused(seed: int, tmp_path: Path) -> None:
    """A CPU's next switch comes from another thread, and a thread that no fork made appears too late."""
    text = SimulatedGuest(seed, cpus=2, steps=240).run()
    lines = text.splitlines(keepends=True)
    opened = next(number for number, line in enumerate(lines) if line.startswith("open"))
    tried = 0
    for number, line in enumerate(lines):
        words = line.split()
        if words[0] not in ("switch", "fork"):
            continue
        later = [word.split() for word in lines[number + 1 :]]
        switches_again = any(one[:2] == words[:2] for one in later if one[0] == "switch")
        appears = any(one[0] in ("wake", "allow") and one[3] == words[3] for one in later)
        if (words[0] == "switch" and switches_again) or (words[0] == "fork" and number > opened and appears):
            tried += 1
            with pytest.raises(VerifyError, match=r"threads.txt:\d+: "):
                books_of("".join(lines[:number] + lines[number + 1 :]), tmp_path)
    assert tried > 5


@pytest.mark.parametrize("seed", range(8))
def test_a_wrong_queue_length_is_refused(seed: int, tmp_path: Path) -> None:
    """One that is off by more than what another vCPU may be about to do."""
    lines = SimulatedGuest(seed, cpus=2, steps=240).run().splitlines(keepends=True)
    tried = 0
    for number, line in enumerate(lines):
        words = line.split()
        place = {"switch": 6, "wake": 5}.get(words[0])
        if place:
            tried += 1
            words[place] = str(int(words[place]) + 4)
            with pytest.raises(
                VerifyError, match=rf"threads.txt:{number + 1}: the guest counts {words[place]} "
            ):
                books_of("".join([*lines[:number], " ".join(words) + "\n", *lines[number + 1 :]]), tmp_path)
    assert tried > 5
