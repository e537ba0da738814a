"""Which thread a worker is, and how soon it ran when another one woke it: what follows by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.runs import WorkerReport
from benchgate.insn.log import ClockLog, ClockMark, MarkKind
from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.threads.repeating import repeat_schedule
from benchgate.judge.accounts.threads.worker_sleeps import worker_sleeps
from tests.unit.factories import cell, raw_run, verified
from tests.unit.judge.accounts.threads.test_lateness import HEAD

WORKERS = """open 100
send 0 1500 2 ff10{sent}
wake 1 2000 2 1 - aa,bb,cc,dd{done}
switch 1 2200 0 r 2 -
switch 1 3000 2 b 0 -
wake 0 3100 2 1 - aa,bb,cc{other}
switch 1 3400 0 r 2 -
"""
BEGUN = (ClockMark(MarkKind.WORK_BEGIN, 0, 200), ClockMark(MarkKind.WORK_BEGIN, 1, 220))
ENDED = (ClockMark(MarkKind.WORK_END, 1, 8000), ClockMark(MarkKind.WORK_END, 0, 8100))


def woken(folder: Path, sent: str = "", done: str = "", other: str = "") -> list[tuple[int, int]] | None:
    """(when, how long) of each wake-up of thread 2 by thread 1; they run on CPU 1 and on CPU 0."""
    body = WORKERS.format(sent=sent, done=done, other=other)
    head = HEAD.replace("open 100\n", "wake 0 50 2 1 - -\nswitch 1 60 0 r 2 -\n")
    body = body.replace("send", "switch 1 400 2 b 0 -\nsend", 1)
    path = folder / "threads.txt"
    path.write_text(f"{head}{body}close 10000\nend 10000\n", encoding="ascii")
    schedule = repeat_schedule(read_thread_events(path))
    run = replace(
        verified(raw_run(cell(2), lane=Lane.INSN), 8000),
        hz=1_000_000_000,
        workers=(WorkerReport(0, 0, 0, 205, 8095, {}), WorkerReport(1, 1, 1, 225, 7995, {})),
    )
    log = ClockLog(7, 5000, 100, 25, 2, (4, 4, 4), (*BEGUN, *ENDED))
    slept = worker_sleeps(schedule, log, run)
    assert slept
    if slept.waits is None:
        return None
    by_thread = {sleeps.life.thread: waits for sleeps, waits in zip(slept.each, slept.waits, strict=True)}
    assert by_thread[1] == ()
    return [(wait.time, wait.length) for wait in by_thread[2]]


def test_a_wake_up_lasts_from_the_time_that_the_guest_had_read_until_the_worker_runs(tmp_path: Path) -> None:
    """The waker leaves the first one to CPU 1, which is idle: its own time there is later than that."""
    assert woken(tmp_path, sent=" 1400", done=" 1900", other=" 3090") == [(1400, 800), (3090, 310)]


def test_a_cpu_that_is_behind_what_the_guest_has_read_saw_no_more(tmp_path: Path) -> None:
    assert woken(tmp_path, sent=" 2150", done=" 2160", other=" 3500") == [(2150, 50), (3500, 0)]


def test_an_earlier_record_does_not_say_how_long_they_were(tmp_path: Path) -> None:
    assert woken(tmp_path) is None
    assert woken(tmp_path, sent=" 1400", done=" 1900") is None
