"""Progress: a live line on a terminal, plain lines otherwise."""

import io
import time

import pytest

from benchgate.session.progress import Progress, seconds


def test_plain_lines_count_the_runs_and_show_the_figure() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    progress.expect(2)
    progress.phase("primes-linux-smp1", "run 1 of 5", "booting")
    progress.ended("primes-linux-smp1", "run 1 of 5", "1.234 s")
    assert stream.getvalue().startswith("benchgate: [1/2] primes-linux-smp1 run 1 of 5: 1.234 s (about ")
    assert stream.getvalue().endswith("left)\n")
    assert "booting" not in stream.getvalue()


def test_a_terminal_sees_one_line_that_is_cleared_in_the_end() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=True)
    progress.expect(1)
    progress.phase("primes-linux-smp1", "warm-up", "booting")
    assert stream.getvalue() == "\r\x1b[K[1/1] primes-linux-smp1 warm-up: booting"
    progress.close()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_waiting_before_the_first_run_makes_no_run_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    now[0] = 600.0  # for another session to end
    progress.expect(3)
    now[0] = 602.0
    progress.ended("primes-linux-smp1", "warm-up", "1.0 s")
    assert "(about 4 s left)" in stream.getvalue()


def test_a_closed_stream_ends_the_display_and_nothing_else() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    stream.close()
    progress.note("nobody hears this")
    assert progress.done == 0


def test_long_times_are_told_in_minutes() -> None:
    assert seconds(59.4) == "59 s"
    assert seconds(61) == "1 min 01 s"


def test_the_line_that_somebody_else_began_is_ended_once() -> None:
    stream = io.StringIO()
    progress = Progress(stream, live=False)
    progress.before_first = lambda: print(file=stream)
    progress.note("one")
    progress.note("two")
    assert stream.getvalue() == "\nbenchgate: one\nbenchgate: two\n"
