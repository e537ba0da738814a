"""Wasted time in a line for the terminal and for summary.md, and only if threads were recorded."""

from __future__ import annotations

from dataclasses import replace

from benchgate.judge.accounts.thread_timeline import WastedTime
from benchgate.render.files import summary
from benchgate.render.tables import terminal, wasted_time
from tests.unit.factories import scaled_view
from tests.unit.render.page.details.test_threads import MEDIAN, SLOWEST

SOME = WastedTime(time=1_000_000_000, wasted=8_000_000, longest=1_200_000, stretches=9, excused=0)


def test_the_line_of_a_cell_is_of_the_run_that_wasted_most() -> None:
    view = replace(scaled_view(), threads=(MEDIAN, replace(SLOWEST, conserved=SOME)))
    assert wasted_time.sentences(view) == ["primes-linux-smp2: wasted 5% (longest 600.0 ns)"]
    assert "primes-linux-smp2: wasted 5% (longest 600.0 ns)\n" in terminal.render(view)
    assert "- primes-linux-smp2: wasted 5% (longest 600.0 ns)\n" in summary.render(view)


def test_without_a_record_nothing_is_said_of_it() -> None:
    assert "wasted" not in terminal.render(scaled_view())
    assert "wasted" not in summary.render(scaled_view()).lower()


def test_shares_are_short_and_what_is_nothing_is_said() -> None:
    assert wasted_time.wasted(SOME) == "wasted 0.8% (longest 1.200 ms)"
    assert wasted_time.wasted(replace(SOME, wasted=0, longest=0)) == "wasted 0%"
    assert wasted_time.wasted(replace(SOME, wasted=10, longest=10)) == "wasted <0.01% (longest 10.00 ns)"


def test_each_cell_has_one_line() -> None:
    view = replace(scaled_view(), threads=(MEDIAN, SLOWEST, replace(SLOWEST, cell="another-smp4")))
    assert wasted_time.sentences(view)[1:] == ["another-smp4: wasted 0%"]
