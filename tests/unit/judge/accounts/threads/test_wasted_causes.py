"""What all of the wasted time has in common, by stretches that are written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads.accounting import thread_books
from benchgate.judge.accounts.threads.books import ThreadBooks
from benchgate.judge.accounts.threads.wasted_causes import NamedBooks, wasted_account

HEAD = """insn-threads 2
vcpus 2
fork 0 10 1 0 61
fork 0 20 2 0 62
wake 0 30 1 0 - -
switch 0 40 0 r 1 -
wake 0 50 2 0 - -
switch 0 60 1 r 2 -
switch 0 70 2 b 1 -
open 100
"""
LATE = 10_000


def books(body: str, folder: Path) -> ThreadBooks:
    path = folder / "threads.txt"
    path.write_text(HEAD + body + "close 1000000\nend 1000000\n", encoding="ascii")
    return thread_books(read_thread_events(path))


def named(of: ThreadBooks) -> NamedBooks:
    return NamedBooks(of, {1: "worker", 2: "message"}.__getitem__, lambda wake: f"a call of {wake.waker}")


@pytest.mark.parametrize(
    ("body", "how", "time"),
    [
        ("wake 0 1000 2 0 - -\nswitch 0 3000 1 b 2 -\n", "a call of 1 left on its own CPU", 2000),
        ("wake 1 1000 2 0 - -\nswitch 0 3000 1 b 2 -\n", "a call of 0 onto another CPU", 2000),
        ("wake 0 1500 2 0 - -\nswitch 0 1500 1 r 2 -\nswitch 0 4500 2 b 1 -\n", "a preemption", 3000),
        ("wake 0 1000 2 0 - -\nyield 0 1000\nswitch 0 1000 1 r 2 -\nswitch 0 1700 2 b 1 -\n", "a yield", 700),
        (f"halt 0 1000\nresume 0 {1000 + LATE + 5}\n", "a CPU that was halted with its thread", 10),
        (
            f"ask 0 1000 2\nwake 0 {1000 + LATE + 8} 2 1 - -\nswitch 1 12000 0 r 2 -\n",
            "a wake-up that came to no queue",
            8,
        ),
        (
            "wake 0 1000 2 1 - -\nmigrate 0 1200 2 1 0\nswitch 0 1900 1 b 2 -\n",
            "a move to a CPU that ran another thread",
            700,
        ),
        (
            "fork 0 900 3 1 63\nwake 0 1000 3 0 - -\nswitch 0 1600 1 b 3 -\n",
            "the start of a thread",
            600,
        ),
    ],
)
def test_each_stretch_says_how_it_began(body: str, how: str, time: int, tmp_path: Path) -> None:
    of = wasted_account([NamedBooks(books(body, tmp_path), str, lambda wake: f"a call of {wake.waker}")])
    assert {row.what: row.time for row in of.how}[how] == time
    assert of.time == sum(row.time for row in of.how)
    assert sum(row.share for row in of.how) == pytest.approx(1)


def test_several_threads_may_wait_in_one_stretch_and_runs_are_added_up(tmp_path: Path) -> None:
    """2 waits behind 1 for 1000 ns, then 1 behind 2 for 500."""
    one = named(books("wake 0 1000 2 0 - -\nswitch 0 2000 1 r 2 -\nswitch 0 2500 2 b 1 -\n", tmp_path))
    of = wasted_account([one, one])
    assert [(row.what, row.time, row.stretches) for row in of.how] == [
        ("a call of 1 left on its own CPU", 3000, 2)
    ]
    assert {row.what: row.time for row in of.who} == {"message": 3000, "worker": 3000}
    assert [row.longest for row in of.who] == [1500, 1500]


def test_without_wasted_time_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert wasted_account([named(books("", tmp_path))]).how == ()
    assert wasted_account([]).time == 0
