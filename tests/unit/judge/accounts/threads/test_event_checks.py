"""A guest's own count of runnable threads must follow from the events, as far as another vCPU lets it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads.schedule import repeat_schedule
from tests.unit.judge.accounts.threads.test_schedule import FILE, path_of


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
