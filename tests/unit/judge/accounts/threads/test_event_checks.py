"""A guest's own count of runnable threads must follow from the events, as far as another vCPU lets it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.threads_log import MigrateEvent, SwitchEvent, read_thread_events
from benchgate.judge.accounts.threads.event_checks import QueueEffect, checked_lengths
from benchgate.judge.accounts.threads.repeating import repeat_schedule
from tests.unit.judge.accounts.threads.test_repeating import FILE, path_of


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("switch 0 1000 1 b 0 0", "switch 0 1000 1 b 0 2", 7),
        ("wake 1 1300 11 0 1 -", "wake 1 1300 11 0 0 -", 9),
        ("wake 0 1500 1 0 2 -", "wake 0 1500 1 0 3 -", 11),
        ("switch 0 1900 11 d 0 0", "switch 0 1900 11 d 0 7", 15),
    ],
)
def test_a_queue_length_that_does_not_follow_is_refused(
    old: str, new: str, line: int, tmp_path: Path
) -> None:
    events = read_thread_events(path_of(FILE.replace(old, new), tmp_path))
    with pytest.raises(
        VerifyError, match=rf"threads\.txt:{line}: the guest counts {new.split()[-1 - new.endswith('-')]} "
    ):
        repeat_schedule(events)
    without = FILE.replace(old, re.sub(r"\d+( -)?$", r"-\1", old))
    repeat_schedule(read_thread_events(path_of(without, tmp_path)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # another vCPU's wake-up may be seen before its line, or counted after it
        ("switch 0 1000 1 b 0 0", "switch 0 1000 1 b 0 1"),
        ("wake 0 1500 1 0 2 -", "wake 0 1500 1 0 3 -"),
    ],
)
def test_the_next_event_of_another_vcpu_may_be_counted_already(old: str, new: str, tmp_path: Path) -> None:
    text = FILE.replace("fork 1 1200 11 10 77\n", "").replace(
        "open 1000\n", "fork 1 900 11 10 77\nopen 1000\n"
    )
    text = text.replace("migrate 1 1600 1 0 1", "wake 1 1600 12 0 3 -\nmigrate 1 1610 1 0 1")
    text = text.replace("open 1000\n", "fork 1 910 12 10 78\nopen 1000\n").replace("11 d 0 0", "11 d 0 1")
    repeat_schedule(read_thread_events(path_of(text, tmp_path)))
    repeat_schedule(read_thread_events(path_of(text.replace(old, new), tmp_path)))


def moved_together(read: int, *between: QueueEffect) -> None:
    """CPU 0 moves three of the four threads of CPU 1 to itself. After the first move CPU 1 switches and reads
    this number; `between` is before the last one."""
    first, second, last = (
        QueueEffect(MigrateEvent(line, 0, 10 + line, line, 1, 0), ((1, -1), (0, +1)), 0, None)
        for line in (1, 3, 5)
    )
    switch = QueueEffect(SwitchEvent(2, 1, 11, 7, "r", 8, read), (), 1, read)
    checked_lengths("threads.txt", [first, switch, second, *between, last], [1, 4])


def test_threads_that_are_moved_together_leave_their_queue_at_once() -> None:
    """Linux does so with up to 32: after the first move CPU 1 may count none of the three any more."""
    for read in (1, 2, 3, 4):
        moved_together(read)
    with pytest.raises(VerifyError, match="the guest counts 0 runnable threads on CPU 1"):
        moved_together(0)


def test_only_moves_in_a_row_are_made_together() -> None:
    other = QueueEffect(SwitchEvent(4, 0, 14, 9, "r", 6, None), (), 0, None)
    moved_together(2, other)
    with pytest.raises(VerifyError, match="the guest counts 1 runnable threads on CPU 1"):
        moved_together(1, other)


def ends(count: int, state: str) -> str:
    """So many threads run on CPU 0, begin to end and leave it in this state."""
    words = (
        f"fork 1 {at} {at} 1 -\nwake 1 {at} {at} 0 - -\nswitch 0 {at} 0 r {at} -\n"
        f"exit 0 {at} {at}\nswitch 0 {at} {at} {state} 0 -\n"
        for at in range(1901, 1901 + count)
    )
    return "".join(words) + "close 2000"


WAKE = "wake 0 1500 1 0 2 -\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "rule"),
    [
        (
            "wake 0 110",
            "allow 0 105 10 1\nwake 0 110",
            5,
            "thread 10 comes to CPU 1, but may run on the CPUs 0x1 only",
        ),
        ("migrate 1 1600", "allow 0 1550 1 1\nmigrate 1 1600", 13, "thread 1 comes to CPU 1, but"),
        (f"{WAKE}migrate 1 1600 1 0 1\n", f"allow 0 1450 1 1\n{WAKE}", 13, "thread 1 comes to CPU 1, but"),
        (WAKE, f"allow 1 1440 1 2\nsend 1 1450 1 ff\n{WAKE}", 13, "thread 1 comes to CPU 0, but"),
        (
            WAKE,
            f"allow 1 1450 1 1\nallow 0 1500 1 3\n{WAKE}",
            12,
            "thread 1 may run on the CPUs 0x3, but was given",
        ),
        ("switch 1 1700 10 b", "switch 1 1700 10 d", 13, "thread 10 dies, but has not begun to end"),
        (
            "exit 0 1800 11\n",
            "exit 0 1800 11\nexit 0 1801 11\n",
            15,
            "thread 11 begins to end for the second",
        ),
        ("6d\n", "ff01\n", 3, "1 of 1 names of threads are no text"),
    ],
)
def test_a_wrong_cpu_end_or_name_is_refused_with_its_line(
    old: str, new: str, line: int, rule: str, tmp_path: Path
) -> None:
    text = FILE.replace("10 77\n", "10 -\n")
    assert text.count(old) == 1
    events = read_thread_events(path_of(text.replace(old, new), tmp_path))
    with pytest.raises(VerifyError, match=rf"threads\.txt:{line}: .*{re.escape(rule)}.*observe"):
        repeat_schedule(events)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # its CPUs change when it is there already, or when another CPU was asked to wake it
        ("switch 0 1400", "allow 1 1310 11 2\nswitch 0 1400"),
        (WAKE, f"send 1 1450 1 ff\nallow 1 1460 1 2\n{WAKE}"),
        # it is held on one CPU for a while
        (WAKE, f"allow 1 1450 1 3\nallow 0 1500 1 1\n{WAKE}allow 1 1600 1 3\n"),
        # where it blocks, another one with its id begins
        ("exit 0 1800 11\n", ""),
        ("close 2000", "fork 1 1950 11 1 -\nclose 2000"),
        ("close 2000", ends(9, "d")),
        ("10 77\n", "10 ff01\n"),
    ],
)
def test_what_is_right_although_it_looks_wrong(old: str, new: str, tmp_path: Path) -> None:
    assert FILE.count(old) == 1
    repeat_schedule(read_thread_events(path_of(FILE.replace(old, new), tmp_path)))


def test_threads_that_begin_to_end_and_never_die_are_refused(tmp_path: Path) -> None:
    """A thread may block on its way, so a few of them are no mistake."""
    text = FILE.replace("exit 0 1800 11\n", "").replace("switch 0 1900 11 d", "switch 0 1900 11 b")
    repeat_schedule(read_thread_events(path_of(text.replace("close 2000", ends(4, "b")), tmp_path)))
    with pytest.raises(
        VerifyError, match=r"threads\.txt:18: .*5 threads begin to end, but no switch from one"
    ):
        repeat_schedule(read_thread_events(path_of(text.replace("close 2000", ends(5, "b")), tmp_path)))
