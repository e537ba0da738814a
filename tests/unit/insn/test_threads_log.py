"""The record of threads: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn import threads_log
from benchgate.insn.threads_log import (
    AllowEvent,
    AskEvent,
    ExitEvent,
    ForkEvent,
    HaltEvent,
    MigrateEvent,
    NameEvent,
    PromptEvent,
    SendEvent,
    SwitchEvent,
    WakeEvent,
    read_thread_events,
)

FILE = """insn-threads 1
vcpus 2
fork 0 100 10 1 6d61696e
allow 0 100 10 3
wake 0 110 10 1 1 ffffffff81000000,ff10 95
name 0 120 10 -
open 200
switch 1 300 0 r 10 -
migrate 0 310 10 1 0
send 1 315 10 ff10 290
exit 1 320 10
tick 1 330
yield 0 340
close 400
end 500
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "threads.txt"


def test_events_are_read(path: Path) -> None:
    path.write_text(FILE, encoding="ascii")
    seen = read_thread_events(path)
    assert seen.events == (
        ForkEvent(3, 0, 100, 10, 1, "main"),
        AllowEvent(4, 0, 100, 10, 3),
        WakeEvent(5, 0, 110, 10, 1, 1, (0xFFFFFFFF81000000, 0xFF10), 95),
        NameEvent(6, 0, 120, 10, ""),
        SwitchEvent(8, 1, 300, 0, "r", 10, None),
        MigrateEvent(9, 0, 310, 10, 1, 0),
        SendEvent(10, 1, 315, 10, (0xFF10,), 290),
        ExitEvent(11, 1, 320, 10),
        PromptEvent(12, 1, 330, is_yield=False),
        PromptEvent(13, 0, 340, is_yield=True),
    )
    assert (seen.vcpus, seen.opened, seen.opened_line, seen.closed, seen.full, seen.end) == (
        2,
        200,
        7,
        400,
        None,
        500,
    )


def test_the_halts_of_the_clock_and_the_calls_that_wake_are_read(path: Path) -> None:
    lines = "halt 0 345\nask 1 350 10\nresume 0 360\n"
    path.write_text(
        FILE.replace("threads 1", "threads 2").replace("close", f"{lines}close"), encoding="ascii"
    )
    seen = read_thread_events(path)
    assert seen.has_halts
    assert seen.events[-3:] == (
        HaltEvent(14, 0, 345, is_begin=True),
        AskEvent(15, 1, 350, 10),
        HaltEvent(16, 0, 360, is_begin=False),
    )
    path.write_text(FILE, encoding="ascii")
    assert not read_thread_events(path).has_halts


def test_a_record_without_the_time_that_was_read_is_of_an_earlier_version(path: Path) -> None:
    path.write_text(FILE.replace("ff10 95", "ff10").replace("ff10 290", "ff10"), encoding="ascii")
    events = read_thread_events(path).events
    assert [event.read for event in events if isinstance(event, WakeEvent | SendEvent)] == [None, None]


def test_a_full_file_and_one_of_a_killed_qemu_are_read(path: Path) -> None:
    path.write_text(FILE.replace("close 400", "full 330\nclose 400"), encoding="ascii")
    assert read_thread_events(path).full == 330
    path.write_text(FILE[: FILE.index("migrate") + 8], encoding="ascii")
    seen = read_thread_events(path)
    assert (len(seen.events), seen.closed, seen.end) == (5, None, None)


def test_a_name_that_is_no_text_is_read(path: Path) -> None:
    path.write_text(FILE.replace("name 0 120 10 -", "name 0 120 10 ff1b5b"), encoding="ascii")
    assert read_thread_events(path).events[3] == NameEvent(6, 0, 120, 10, "\ufffd\x1b[")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("insn-threads 1", "insn-threads 5"),
        ("vcpus 2", "vcpus 257"),
        ("vcpus 2", "vcpus 0"),
        ("vcpus 2\n", ""),
        ("vcpus 2\n", "vcpus 2\nvcpus 2\n"),
        ("vcpus 2\n", "vcpus 2\nstart 1\nstart 1\n"),
        ("vcpus 2\n", "vcpus 2\nstart -1\n"),
        ("fork 0 100", "fork 2 100"),
        ("tick 1 330", "tick 2 330"),
        ("tick 1 330", "tick 1 330 10"),
        ("yield 0 340", "yield 0"),
        ("fork 0 100", "fork 0 0100"),
        ("fork 0 100", "fork 0 -100"),
        ("6d61696e", "6d61696"),
        ("6d61696e", "6D61696e"),
        ("6d61696e", "61" * 33),
        ("6d61696e", ""),
        ("allow 0 100 10 3", "allow 0 100 10 03"),
        ("allow 0 100 10 3", f"allow 0 100 10 {'f' * 65}"),
        ("wake 0 110 10 1", "wake 0 110 10 2"),
        ("wake 0 110 10 1 1 ", "wake 0 110 10 1 "),
        ("ffffffff81000000,ff10", ",".join(["ff"] * 9)),
        ("ffffffff81000000,ff10", "ffffffff81000000,"),
        ("ff10 95", "ff10 095"),
        ("ff10 95", "ff10 -"),
        ("ff10 290", "ff10 290 0"),
        ("switch 1 300 0 r", "switch 1 300 0 x"),
        ("switch 1 300 0 r 10 -", "switch 1 300 0 r 10"),
        ("migrate 0 310 10 1 0", "migrate 0 310 10 2 0"),
        ("send 1 315 10 ff10 290", "send 1 315 10"),
        ("send 1 315 10 ff10 290", "send 2 315 10 ff10"),
        ("migrate 0 310 10 1 0", "migrate 0 310 10 1 2"),
        ("open 200", "open 450"),
        ("open 200\n", ""),
        ("close 400", "close 600"),
        ("end 500", "end 500\nexit 1 510 10"),
        ("exit 1 320 10", "full 315\nexit 1 320 10"),
        ("exit 1 320 10", "exits 1 320 10"),
    ],
)
def test_another_line_is_refused(path: Path, old: str, new: str) -> None:
    assert FILE.count(old) == 1
    path.write_text(FILE.replace(old, new), encoding="ascii")
    with pytest.raises(VerifyError, match=r"threads\.txt"):
        read_thread_events(path)


def test_a_file_that_is_too_long_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads_log, "FILE_LIMIT", len(FILE) - 1)
    path.write_text(FILE, encoding="ascii")
    with pytest.raises(VerifyError, match="at most"):
        read_thread_events(path)
