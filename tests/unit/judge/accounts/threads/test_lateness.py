"""Why a thread was late: what follows by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads.books import SwitchCause, ThreadWait
from benchgate.judge.accounts.threads.lateness import explain_waits, find_waits
from benchgate.judge.accounts.threads.repeating import repeat_schedule

HEAD = """insn-threads 1
vcpus 3
fork 0 10 1 0 61
fork 0 20 2 0 62
fork 0 25 3 0 63
fork 0 27 4 0 64
wake 0 30 1 0 - -
switch 0 40 0 r 1 -
open 100
"""


def waits_of(body: str, folder: Path, head: str = HEAD) -> list[ThreadWait]:
    path = folder / "threads.txt"
    path.write_text(f"{head}{body}close 10000\nend 10000\n", encoding="ascii")
    schedule = repeat_schedule(read_thread_events(path))
    return list(explain_waits(schedule, find_waits(schedule)))


@pytest.mark.parametrize(
    ("end", "ended"),
    [
        ("switch 0 3000 1 b 2 -", SwitchCause("block", 3000, 1)),
        ("switch 0 3000 1 d 2 -", SwitchCause("exit", 3000, 1)),
        # the guest's ticks are not observed, so it may have been one
        ("switch 0 3000 1 r 2 -", SwitchCause("preemption", 3000, 1)),
        ("yield 0 2990\nswitch 0 3000 1 r 2 -", SwitchCause("yield", 2990, 1)),
        # the last thing on CPU 0 counts; what was on CPU 1 does not
        ("tick 0 2990\ntick 1 2995\nswitch 0 3000 1 r 2 -", SwitchCause("tick", 2990, 1)),
        ("tick 0 2980\nyield 0 2990\nswitch 0 3000 1 r 2 -", SwitchCause("yield", 2990, 1)),
        ("tick 1 1700\nswitch 0 3000 1 r 2 -", SwitchCause("wakeup", 1000, 1, woken=2)),
        ("tick 0 2980\nwake 1 2990 4 0 - -\nswitch 0 3000 1 r 2 -", SwitchCause("wakeup", 2990, 1, woken=4)),
        # a tick before it, but the thread blocks
        ("tick 0 2990\nswitch 0 3000 1 b 2 -", SwitchCause("block", 3000, 1)),
    ],
)
def test_who_made_room(end: str, ended: SwitchCause, tmp_path: Path) -> None:
    body = f"allow 0 900 2 3\nwake 0 1000 2 0 - ff10\nwake 0 1500 3 1 - -\nswitch 1 1600 0 r 3 -\n{end}\n"
    wait = next(thread_wait for thread_wait in waits_of(body, tmp_path) if thread_wait.thread == 2)
    assert (wait.begin, wait.end, wait.cpu, wait.ended) == (1000, 3000, 0, ended)
    assert wait.lost is None
    assert wait.behind == ((1, 2000),)
    assert wait.idle_cpus == ((1, 600),)  # it may not run on CPU 2, which idles for the whole time
    assert wait.wake
    assert (wait.wake.waker, wait.wake.trail) == (1, (0xFF10,))


def test_a_wait_goes_on_on_another_queue(tmp_path: Path) -> None:
    body = "wake 0 1000 3 1 - -\nswitch 1 1100 0 r 3 -\n"
    body += "wake 0 1200 2 0 - -\nmigrate 1 1500 2 0 1\nswitch 1 1900 3 b 2 -\n"
    wait = waits_of(body, tmp_path)[0]
    assert (wait.thread, wait.begin, wait.end, wait.cpu) == (2, 1200, 1900, 1)
    assert wait.behind == ((3, 400), (1, 300))
    assert wait.idle_cpus == ((2, 700),)
    assert wait.ended == SwitchCause("steal", 1500, 3, origin=0, mover=1)


def test_a_cpu_that_gives_a_thread_away_is_told_from_one_that_takes_it(tmp_path: Path) -> None:
    """By where the move was made: CPU 0 makes this one, and nothing ran on CPU 1."""
    body = "wake 0 1200 2 0 - -\nmigrate 0 1500 2 0 1\nswitch 1 1900 0 r 2 -\n"
    assert waits_of(body, tmp_path)[0].ended == SwitchCause("push", 1500, 0, origin=0, mover=0)


def test_who_runs_on_another_cpu_than_its_queue_s_was_taken_by_it(tmp_path: Path) -> None:
    """A guest without a hook for moves."""
    wait = waits_of("wake 0 1200 2 0 - -\nswitch 1 1900 0 r 2 -\n", tmp_path)[0]
    assert wait.ended == SwitchCause("steal", 1900, 0, origin=0, mover=1)


def test_who_waits_behind_another_after_a_move_was_not_ended_by_it(tmp_path: Path) -> None:
    body = "wake 0 1000 3 1 - -\nswitch 1 1100 0 r 3 -\nwake 0 1200 2 0 - -\nmigrate 1 1500 2 0 1\n"
    body += "switch 1 1700 3 b 0 -\nswitch 1 1900 0 r 2 -\n"
    assert waits_of(body, tmp_path)[0].ended == SwitchCause("idle", 1900, 0)


def test_a_wait_on_an_idle_cpu_and_one_that_does_not_end(tmp_path: Path) -> None:
    long, short = waits_of("wake 0 1000 3 1 - -\nswitch 1 1100 0 r 3 -\nwake 0 9000 2 0 - -\n", tmp_path)
    assert (long.thread, long.end, long.ended) == (2, 10000, None)
    assert (short.thread, short.length, short.behind) == (3, 100, ())
    assert short.ended == SwitchCause("idle", 1100, 0)


def test_waits_are_cut_at_the_window(tmp_path: Path) -> None:
    head = HEAD.replace("open 100\n", "wake 0 50 2 0 - -\nwake 0 60 3 1 - -\nswitch 1 70 0 r 3 -\nopen 100\n")
    (wait,) = waits_of("switch 0 300 1 b 2 -\n", tmp_path, head)
    assert (wait.thread, wait.begin, wait.end) == (2, 100, 300)
    assert wait.wake
    assert wait.wake.time == 50


def test_a_preempted_thread_has_no_wake_up(tmp_path: Path) -> None:
    body = "wake 0 1000 2 0 - -\ntick 0 1090\nswitch 0 1100 1 r 2 -\nswitch 0 1500 2 b 1 -\n"
    wait = next(thread_wait for thread_wait in waits_of(body, tmp_path) if thread_wait.thread == 1)
    assert (wait.begin, wait.end, wait.wake, wait.behind) == (1100, 1500, None, ((2, 400),))
    assert wait.lost == SwitchCause("tick", 1090, 1)


def test_a_thread_that_is_moved_after_its_preemption_still_says_how_it_lost_its_cpu(tmp_path: Path) -> None:
    body = "wake 0 1000 2 0 - -\nyield 0 1090\nswitch 0 1100 1 r 2 -\nmigrate 1 1300 1 0 1\n"
    waits = waits_of(f"{body}switch 1 1500 0 r 1 -\n", tmp_path)
    wait = next(thread_wait for thread_wait in waits if thread_wait.thread == 1)
    assert wait.lost == SwitchCause("yield", 1090, 1)
    assert wait.ended == SwitchCause("steal", 1300, 0, origin=0, mover=1)


def test_a_yield_after_which_the_thread_went_on_ends_no_wait(tmp_path: Path) -> None:
    """It gives way to nobody; much later it is preempted by a tick."""
    body = "wake 0 1000 2 0 - -\nyield 0 1100\ntick 0 2900\nswitch 0 3000 1 r 2 -\n"
    wait = next(thread_wait for thread_wait in waits_of(body, tmp_path) if thread_wait.thread == 2)
    assert wait.ended == SwitchCause("tick", 2900, 1)
