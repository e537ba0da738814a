"""What a record of threads must not say, and what it may say although it looks wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads.books import SwitchCause
from benchgate.judge.accounts.threads.repeating import repeat_schedule, window_of
from benchgate.judge.accounts.threads.schedule import CpuRun, Phase

FILE = """insn-threads 1
vcpus 2
fork 0 100 10 1 6d
wake 0 110 10 1 1 -
switch 1 300 0 r 10 1
open 1000
switch 0 1000 1 b 0 0
fork 1 1200 11 10 77
wake 1 1300 11 0 1 -
switch 0 1400 0 r 11 1
wake 0 1500 1 0 2 -
migrate 1 1600 1 0 1
switch 1 1700 10 b 1 1
exit 0 1800 11
switch 0 1900 11 d 0 0
close 2000
end 2000
"""
STOLEN = SwitchCause("steal", 1600, 10, origin=0, mover=1)


def path_of(text: str, folder: Path) -> Path:
    path = folder / "threads.txt"
    path.write_text(text, encoding="ascii")
    return path


def test_the_record_is_repeated(tmp_path: Path) -> None:
    schedule = repeat_schedule(read_thread_events(path_of(FILE, tmp_path)))
    assert schedule.runs == (
        (CpuRun(0, 1000, 1), CpuRun(1000, 1400, 0), CpuRun(1400, 1900, 11), CpuRun(1900, 2000, 0)),
        (CpuRun(0, 300, 0), CpuRun(300, 1700, 10), CpuRun(1700, 2000, 1)),
    )
    first = next(life for life in schedule.lives if life.thread == 1)
    assert [(phase.begin, phase.state, phase.cpu) for phase in first.phases] == [
        (0, "running", 0),
        (1000, "blocked", 0),
        (1500, "runnable", 0),
        (1600, "runnable", 1),
        (1700, "running", 1),
    ]
    assert first.phases[-1] == Phase(1700, "running", 1, None, STOLEN)
    assert (first.moves, first.leaves) == ([(1600, 0, 1)], [(1000, False)])
    assert schedule.switches == ((1000, 1400, 1900), (300, 1700))


def test_a_restored_guest_had_threads_before_its_start(tmp_path: Path) -> None:
    text = FILE.replace("vcpus 2\n", "vcpus 2\nstart 50\n").replace("fork 1 1200 11 10 77\n", "")
    events = read_thread_events(path_of(text, tmp_path))
    assert events.start == 50
    assert 11 in {life.thread for life in repeat_schedule(events).lives}


def test_the_waker_is_the_one_that_asked_another_cpu_for_the_wake_up(tmp_path: Path) -> None:
    """Also if a wake-up that was asked for did not come, because the thread had not left its CPU."""
    text = FILE.replace("wake 0 1500", "send 1 1450 1 ff\nwake 0 1500")
    schedule = repeat_schedule(read_thread_events(path_of(text, tmp_path)))
    first = next(life for life in schedule.lives if life.thread == 1)
    (wake,) = first.wakes
    assert (wake.time, wake.waker, wake.waker_cpu, wake.cpu, wake.trail) == (1500, 10, 1, 0, (0xFF,))
    text = FILE.replace("switch 0 1400", "send 1 1300 11 ff\nswitch 0 1400")
    text = text.replace(
        "exit 0 1800 11",
        "switch 0 1780 11 b 0 0\nwake 0 1790 11 0 1 -\nswitch 0 1795 0 r 11 1\nexit 0 1800 11",
    )
    schedule = repeat_schedule(read_thread_events(path_of(text, tmp_path)))
    other = next(life for life in schedule.lives if life.thread == 11)
    assert [thread_wake.waker for thread_wake in other.wakes] == [10, 0]


@pytest.mark.parametrize(
    ("old", "new", "line", "rule"),
    [
        ("fork 1 1200 11 10 77\n", "", 8, "no fork made thread 11"),
        ("wake 1 1300 11 0 1 -", "wake 1 1300 12 0 1 -", 9, "no fork made thread 12"),
        ("switch 1 1700 10 b 1 1", "switch 1 1700 9 b 1 1", 13, "no fork made thread 9"),
        (
            "switch 1 1700 10 b",
            "switch 1 1700 11 b",
            13,
            "thread 11 stops running on CPU 1, where thread 10 runs",
        ),
        (
            "switch 0 1900 11 d",
            "switch 0 1900 0 r",
            15,
            "the idle thread stops running on CPU 0, where thread 11",
        ),
        ("switch 1 1700 10 b 1 1", "switch 1 1700 10 b 11 1", 13, "switches to thread 11, which is running"),
        ("wake 1 1300 11 0 1 -\n", "", 9, "switches to thread 11, which is blocked"),
        ("wake 0 1500 1 0 2 -", "wake 0 1500 10 0 2 -", 11, "thread 10 is woken, but is running"),
        ("migrate 1 1600", "wake 0 1550 1 0 2 -\nmigrate 1 1600", 12, "thread 1 is woken, but is runnable"),
        (
            "migrate 1 1600 1 0 1",
            "migrate 1 1600 10 1 0",
            12,
            "thread 10 is moved to CPU 0, but runs on CPU 1",
        ),
        ("migrate 1 1600 1 0 1", "migrate 1 1600 1 1 0", 12, "is moved from CPU 1, but waits on CPU 0"),
        (
            "fork 1 1200 11 10 77",
            "fork 1 1200 11 1 77",
            8,
            "thread 1 makes a thread on CPU 1, where thread 10 runs",
        ),
        (
            "fork 1 1200 11 10 77",
            "fork 1 1190 1 10 77\nfork 1 1200 11 10 77",
            8,
            "a fork makes thread 1, which exists already",
        ),
        (
            "fork 1 1200 11 10 77",
            "fork 1 1190 0 10 77\nfork 1 1200 11 10 77",
            8,
            "a fork makes the idle thread, which exists already",
        ),
        ("exit 0 1800 11", "exit 0 1800 10", 14, "thread 10 exits on CPU 0, where thread 11 runs"),
        ("wake 1 1300", "send 1 1250 12 -\nwake 1 1300", 9, "thread 12"),
        ("close 2000", "wake 1 1950 11 0 1 -\nclose 2000", 16, "thread 11 is dead"),
        ("switch 0 1400 0 r 11 1", "switch 0 1400 0 b 11 1", 10, "the idle thread neither blocks nor dies"),
        ("switch 0 1400 0 r 11 1", "switch 0 1400 0 r 0 1", 10, "from the idle thread to itself"),
        ("switch 0 1900 11 d", "switch 0 1100 11 d", 15, "the time of vCPU 0 goes back from 1800"),
    ],
)
def test_a_contradiction_is_refused_with_its_line(
    old: str, new: str, line: int, rule: str, tmp_path: Path
) -> None:
    assert FILE.count(old) == 1
    events = read_thread_events(path_of(FILE.replace(old, new), tmp_path))
    with pytest.raises(VerifyError, match=rf"threads\.txt:{line}: .*{re.escape(rule)}.*observe"):
        repeat_schedule(events)


def test_times_of_two_vcpus_may_differ(tmp_path: Path) -> None:
    """CPU 1 wakes thread 11 at 1300 of its time, and CPU 0 switches to it at 1290 of its own."""
    schedule = repeat_schedule(
        read_thread_events(path_of(FILE.replace("switch 0 1400", "switch 0 1290"), tmp_path))
    )
    life = next(life for life in schedule.lives if life.thread == 11)
    assert [(phase.begin, phase.state) for phase in life.phases][1:3] == [
        (1300, "runnable"),
        (1300, "running"),
    ]
    assert schedule.runs[0][1:3] == (CpuRun(1000, 1290, 0), CpuRun(1290, 1900, 11))


def test_a_thread_may_come_from_another_queue_without_a_move(tmp_path: Path) -> None:
    """A kernel with one queue for all CPUs has no moves."""
    schedule = repeat_schedule(
        read_thread_events(path_of(FILE.replace("migrate 1 1600 1 0 1\n", ""), tmp_path))
    )
    life = next(life for life in schedule.lives if life.thread == 1)
    assert life.moves == [(1700, 0, 1)]
    assert life.phases[-1] == Phase(1700, "running", 1, None, replace(STOLEN, time=1700))


def test_a_dead_thread_s_id_may_be_given_again(tmp_path: Path) -> None:
    again = FILE.replace("close 2000", "fork 1 1950 11 1 79\nclose 2000")
    schedule = repeat_schedule(read_thread_events(path_of(again, tmp_path)))
    assert [life.names for life in schedule.lives if life.thread == 11] == [[(1200, "w")], [(1950, "y")]]


def test_the_window(tmp_path: Path) -> None:
    def window(text: str) -> tuple[int, int, bool]:
        return window_of(read_thread_events(path_of(text, tmp_path)))

    assert window(FILE) == (1000, 2000, False)
    assert window(FILE.replace("close 2000\nend 2000\n", "")) == (1000, 1900, False)
    assert window(FILE.replace("close 2000\n", "full 1950\n")) == (1000, 1950, True)
