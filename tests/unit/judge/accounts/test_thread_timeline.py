"""Which runs have pictures of threads, the names in them, and how much time was wasted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.insn.symbols import Symbols, sorted_symbols
from benchgate.judge.accounts.thread_sketch import LaneBox
from benchgate.judge.accounts.thread_timeline import (
    FEWEST_BOXES,
    MOST_LATE,
    ThreadTimeline,
    names_of,
    thread_timelines,
)
from benchgate.judge.accounts.threads.books import WastedTime
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import cell, raw_run, verified
from tests.unit.judge.accounts.test_thread_sketch import book

SCHEDULE = """\
insn-threads 1
vcpus 2
fork 0 0 7 0 77
fork 0 0 8 0 77
wake 0 10 7 0 1 -
switch 0 20 0 r 7 1
open 100
wake 0 100000 8 0 2 -
migrate 1 400000 8 0 1
switch 1 400000 0 r 8 1
switch 1 700000 8 b 0 0
close 1000100
end 1000200
"""
"""The window has 1,000,000 ns. Thread 7 runs on CPU 0 all the time. Thread 8 is woken there at 100,000, so
CPU 1 is idle in vain until it takes it at 400,000; it runs until 700,000."""


def run_of(folder: Path, attempt: int, work: int, text: str = SCHEDULE, *, cpus: int = 2) -> JudgedRun:
    home = folder / "runs" / f"{attempt:04}-primes"
    home.mkdir(parents=True)
    if text:
        (home / "threads.txt").write_text(text, encoding="ascii")
    raw = replace(raw_run(cell(cpus), attempt=attempt, lane=Lane.INSN), folder=home, seed=7)
    return JudgedRun(raw, verified(raw, work))


def only(folder: Path, text: str = SCHEDULE) -> ThreadTimeline:
    (timeline,) = thread_timelines([run_of(folder, 1, 100, text)])
    return timeline


def test_a_run_without_a_record_has_none(tmp_path: Path) -> None:
    assert thread_timelines([run_of(tmp_path, 1, 100, "")]) == ()


def test_the_median_and_the_slowest_of_the_recorded_runs(tmp_path: Path) -> None:
    runs = [run_of(tmp_path, number, work) for number, work in enumerate((300, 100, 200), 1)]
    plain = [run_of(tmp_path, number, work, "") for number, work in ((4, 1), (5, 900))]
    other = run_of(tmp_path, 9, 50, cpus=4)
    timelines = thread_timelines([*plain, *runs, other])
    assert [(timeline.run, timeline.which) for timeline in timelines] == [
        (3, "median"),
        (1, "slowest"),
        (9, "only"),
    ]
    assert (timelines[0].folder, timelines[0].seed, timelines[0].work) == ("runs/0003-primes", 7, 200)


def test_a_run_that_does_not_count_has_none(tmp_path: Path) -> None:
    good = run_of(tmp_path, 1, 100)
    assert thread_timelines([replace(good, run=replace(good.run, warmup=True))]) == ()
    assert thread_timelines([JudgedRun(good.run, None, "no end line")]) == ()


def test_time_is_wasted_until_the_idle_cpu_takes_the_thread(tmp_path: Path) -> None:
    timeline = only(tmp_path)
    assert timeline.conserved == WastedTime(2_000_000, 300_000, 300_000, 1, 0, working=2_000_000)
    assert timeline.conserved.share == pytest.approx(0.15)
    (how,), (who,) = timeline.account.how, timeline.account.who
    assert (how.what, how.time, how.share) == ("a wake-up left on its own CPU", 300_000, 1)
    assert (who.what, who.time, who.stretches) == ("w", 300_000, 1)
    assert timeline.longest_wait == 300_000
    assert [(named.name, named.book.thread, named.longest) for named in timeline.threads] == [
        ("w #1", 7, 0),
        ("w #2", 8, 300_000),
    ]
    lane = timeline.sketch.lanes[1]
    assert [box.thread for box in lane] == [8] * len(lane)
    columns = timeline.sketch.columns
    assert (lane[0].begin, lane[-1].end) == (columns * 4 // 10, columns * 7 // 10 + 1)
    assert timeline.sketch.lanes[0] == (LaneBox(7, 0, columns, 4),)
    assert not timeline.is_cut


def test_the_longest_waits_have_the_names_and_symbols_that_tell_of_them(tmp_path: Path) -> None:
    """Those of other threads and places would fill the page."""
    text = SCHEDULE.replace("fork 0 0 8 0 77", "fork 0 0 8 0 77\nfork 0 0 9 0 78").replace(
        "wake 0 100000 8 0 2 -", "wake 0 100000 8 0 2 ff10"
    )
    known = sorted_symbols([(0xFF00, 0x20, "try_to_wake_up"), (0xFF20, 0x20, "other")])
    asked = []

    def symbols(run: RawRun) -> Symbols:
        asked.append(run.attempt)
        return known

    (timeline,) = thread_timelines([run_of(tmp_path, 1, 100, text)], symbols)
    (wait,) = timeline.late
    assert (wait.thread, wait.length, asked) == (8, 300_000, [1])
    assert (timeline.begin, timeline.names) == (100, {7: "w", 8: "w"})
    assert (timeline.symbols.name_of(0xFF10), timeline.symbols.name_of(0xFF25)) == ("try_to_wake_up", None)


def test_as_many_waits_are_explained_as_the_page_has_room_for(tmp_path: Path) -> None:
    lines = [f"wake 0 {100 + n} {20 + n} 0 - -\n" for n in range(MOST_LATE + 2)]
    forks = [f"fork 0 50 {20 + n} 7 78\n" for n in range(MOST_LATE + 2)]
    text = SCHEDULE.replace("open 100\n", "".join((*forks, "open 100\n", *lines)))
    timeline = only(
        tmp_path, text.replace("wake 0 100000 8 0 2 -", "wake 0 100000 8 0 - -").replace(" r 8 1", " r 8 -")
    )
    assert [wait.thread for wait in timeline.late] == [20, 21, 22]


def test_a_full_record_is_said(tmp_path: Path) -> None:
    text = SCHEDULE.replace("close 1000100\n", "full 800000\nclose 1000100\n")
    timeline = only(tmp_path, text)
    assert timeline.is_cut
    assert timeline.sketch.length == 800_000 - 100


def test_an_excused_cpu_is_no_waste(tmp_path: Path) -> None:
    """Thread 8 may run on CPU 0 only, where thread 7 runs."""
    lines = SCHEDULE.replace("open 100", "allow 0 30 8 1\nopen 100").splitlines()
    kept = [line for line in lines if " 1 400000 " not in line and " 1 700000 " not in line]
    timeline = only(tmp_path, "\n".join(kept) + "\n")
    assert timeline.conserved == WastedTime(2_000_000, 0, 0, 0, 900_100, working=2_000_000)


def test_a_record_that_contradicts_itself_has_no_picture(tmp_path: Path) -> None:
    text = SCHEDULE.replace("switch 1 400000 0 r 8 1", "switch 1 400000 9 r 8 1")
    with pytest.raises(VerifyError, match="contradict"):
        only(tmp_path, text)


def test_threads_of_one_name_are_numbered_in_the_order_of_their_ids() -> None:
    named = [book(9, name="bench"), book(3, name="init"), book(4, name="bench"), book(5, name="")]
    assert names_of(named) == {3: "init", 4: "bench #1", 5: "no name", 9: "bench #2"}


def test_all_pictures_together_are_bounded(tmp_path: Path) -> None:
    """Each of many runs has fewer boxes, but never none."""
    busy = ["insn-threads 1", "vcpus 1", "fork 0 0 7 0 77", "fork 0 0 8 0 77", "wake 0 1 7 0 1 -", "open 1"]
    busy += ["wake 0 1 8 0 2 -", "switch 0 2 0 r 7 2"]
    busy += [f"switch 0 {1000 * n} {7 + (n + 1) % 2} r {7 + n % 2} 2" for n in range(1, 801)]
    text = "\n".join([*busy, "close 801000", "end 801000", ""])
    runs = [run_of(tmp_path, n, 100, text, cpus=n) for n in range(1, 41)]
    (alone,) = thread_timelines(runs[:1])
    many = thread_timelines(runs)
    assert len(many) == len(runs)
    assert len(alone.sketch.lanes[0]) > FEWEST_BOXES
    assert all(0 < len(timeline.sketch.lanes[0]) < len(alone.sketch.lanes[0]) for timeline in many)
