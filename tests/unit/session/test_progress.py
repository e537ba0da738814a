"""Progress: a live line on a terminal, plain lines otherwise."""

import contextlib
import fcntl
import io
import os
import struct
import sys
import termios
import time

import pytest

from benchgate.base.runs import Ending
from benchgate.judge.judged_run import JudgedRun
from benchgate.session.progress import Progress, figure, on_stderr, seconds
from tests.machines import PATIENCE_S
from tests.unit.factories import cell, raw_run, verified


def test_plain_lines_count_the_runs_and_show_the_figure() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    progress.expect(2)
    progress.phase("primes-linux-smp1", "run 1 of 5", "booting")
    progress.ended("primes-linux-smp1", "run 1 of 5", "1.234 s")
    assert stream.getvalue().startswith("benchgate: [1/2] primes-linux-smp1 run 1 of 5: 1.234 s (about ")
    assert stream.getvalue().endswith("left)\n")
    assert "booting" not in stream.getvalue()


def test_what_is_odd_about_a_run_has_a_plain_line_once() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    for phase in ("running", "it prints nothing", "it prints nothing", "running"):
        progress.phase("primes-linux-smp1", "run 1 of 5", phase)
    assert stream.getvalue() == "benchgate: primes-linux-smp1 run 1 of 5: it prints nothing\n"


def test_a_terminal_gets_one_line_that_is_cleared_at_the_end() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=True)
    progress.expect(1)
    progress.phase("primes-linux-smp1", "warm-up", "booting")
    assert stream.getvalue() == "\r\x1b[K[1/1] primes-linux-smp1 warm-up: booting"
    progress.close()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_the_boot_after_the_last_run_does_not_count_beyond_the_total() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=True)
    progress.expect(1)
    progress.ended("primes-linux-smp1", "run 1 of 1", "1.0 s")
    progress.phase("primes-linux-smp1", "profile", "running")
    assert "[1/1] primes-linux-smp1 profile: running" in stream.getvalue()
    assert "[2/1]" not in stream.getvalue()


def test_waiting_before_the_first_run_is_not_in_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    progress.expect(3)
    now[0] = 600.0  # for another session to end
    progress.phase("primes-linux-smp1", "warm-up", "booting")
    now[0] = 602.0
    progress.ended("primes-linux-smp1", "warm-up", "1.0 s")
    assert "(about 4 s left)" in stream.getvalue()


def test_a_row_of_unknown_length_makes_the_time_left_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    for row in ("a-smp1", "b-smp1"):
        progress.expect(2, row)
    for row in ("a-smp1", "a-smp1", "b-smp1"):
        progress.phase(row, f"at {now[0]}", "booting")
        now[0] += 5.0 if row == "a-smp1" else 90.0
        progress.ended(row, f"at {now[0] - 5}" if row == "a-smp1" else "at 10.0", "1.0 s")
    shown = [line.partition("1.0 s")[2] for line in stream.getvalue().splitlines()]
    assert shown == [" (perhaps 15 s left)", " (perhaps 10 s left)", " (about 1 min 30 s left)"]


def test_runs_that_are_not_made_are_not_waited_for() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    for expected in ("a-smp1", "a-smp2", "b-smp1"):
        progress.expect(5, expected)
    progress.phase("a-smp1", "seed 1 of 5", "running")
    progress.ended("a-smp1", "seed 1 of 5", "INVALID: wrong answer")
    progress.forget(["a-smp1", "a-smp2"])
    progress.phase("b-smp1", "seed 1 of 5", "running")
    progress.ended("b-smp1", "seed 1 of 5", "1.0 s")
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["[1/15]", "[2/6]"]


@pytest.mark.parametrize("columns", [30, 40, 60, 80, 100, 120, 200])
def test_the_line_is_as_wide_as_the_terminal_and_always_has_place_and_time(columns: int) -> None:
    cell = "a-workload-with-a-name.of-many-parameters-linux.and-its-settings-smp16"
    whole = f"[2/3] {cell} seed 2 of 3: booting (about 0 s left)"
    shown = on_terminal(columns, cell)
    assert shown.startswith("[2/3] ")
    assert shown.endswith(" (about 0 s left)")
    assert len(shown) == min(columns - 1, len(whole))
    assert (shown == whole) == (columns > len(whole))
    assert ("..." in shown) == (columns <= len(whole))


def on_terminal(columns: int, cell: str) -> str:
    """The last live line on a terminal of this width."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(slave, "w") as stream:
        progress = Progress(stream, live=True)
        progress.expect(3, cell)
        progress.phase(cell, "seed 1 of 3", "running")
        progress.ended(cell, "seed 1 of 3", "1.0 s")
        progress.phase(cell, "seed 2 of 3", "booting")
        progress.close()
    text = ""
    with contextlib.suppress(OSError):  # Linux says so that the other end is closed
        while more := os.read(master, 4096):
            text += more.decode()
    os.close(master)
    return text.split("\r\x1b[K")[-2]


def test_the_line_is_kept_up_to_date_while_nothing_is_reported() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=True)
    progress.expect(2, "a-smp1")
    progress.phase("a-smp1", "seed 1 of 2", "running")
    begin = len(stream.getvalue())
    for _ in range(int(PATIENCE_S * 10)):
        if len(stream.getvalue()) > begin:
            break
        time.sleep(0.1)
    assert stream.getvalue()[begin:].startswith("\r\x1b[K[1/2] a-smp1 seed 1 of 2: running")
    progress.close()


def test_plain_lines_show_now_and_then_that_a_long_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    progress.expect(2, "a-smp1")
    progress.phase("a-smp1", "seed 1 of 2", "running")
    for second in range(100):
        now[0] = float(second)
        assert progress.tick()
    assert stream.getvalue().splitlines() == ["benchgate: [1/2] a-smp1 seed 1 of 2: running"] * 3
    progress.close()
    assert not progress.tick()
    assert stream.getvalue().count("\n") == 3


def test_a_closed_stream_ends_only_the_display() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    stream.close()
    progress.note("unseen")
    assert progress.done == 0


def test_long_times_are_in_minutes() -> None:
    assert seconds(59.4) == "59 s"
    assert seconds(61) == "1 min 01 s"


def test_an_unfinished_line_of_pytest_is_ended_before_a_line_of_ours() -> None:
    stream = io.StringIO("test_a.py .")
    stream.seek(0, io.SEEK_END)
    progress = Progress(stream, live=True, end_line=lambda: _end(stream))
    progress.note("one")
    stream.write("..")
    progress.phase("primes-linux-smp1", "run 1 of 1", "booting")
    progress.phase("primes-linux-smp1", "run 1 of 1", "running")  # replaces the line before
    shown = [line.rpartition("\x1b[K")[2] for line in stream.getvalue().split("\n")]
    assert shown == ["test_a.py .", "benchgate: one", "..", "primes-linux-smp1 run 1 of 1: running"]


def _end(stream: io.StringIO) -> None:
    if not stream.getvalue().endswith("\n"):
        stream.write("\n")


def judged(work: int = 1_234_000_000, unit: str = "ns", *, warmup: bool = False) -> JudgedRun:
    run = raw_run(cell(1), warmup=warmup)
    return JudgedRun(run, verified(run, work, unit=unit))


def test_the_figure_of_a_run_that_has_ended() -> None:
    assert figure(judged()) == "1.234 s, verified"
    assert figure(judged(12_345_678, "cycles")) == "12,345,678 cycles, verified"
    assert figure(judged(warmup=True)) == "1.234 s, verified (warmup)"
    crashed = JudgedRun(raw_run(cell(1), ending=Ending.PANIC), None, "the guest panicked")
    assert figure(crashed) == "CRASHED: the guest panicked"


@pytest.mark.parametrize("live", [True, False])
def test_text_from_outside_stays_on_its_line(live: bool) -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=live)
    progress.ended("row-smp1", "run 1", "INVALID: a\x1b[2J\n::error::b")
    progress.note("a process called \x1b[2J\n::error::b")
    shown = stream.getvalue().replace("\r\x1b[K", "")
    assert "\x1b" not in shown
    assert "\n::" not in shown
    assert shown.count("a\\x1b[2J\\x0a") == 1


def test_a_closed_standard_error_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    progress = on_stderr()
    progress.note("nobody reads this")
    assert not progress.live
