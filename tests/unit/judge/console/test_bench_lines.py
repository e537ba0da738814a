"""BENCH lines of a micro-benchmark program, as Kevlar prints them."""

from __future__ import annotations

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.system.results import ResultDefinition, ResultFormat
from benchgate.judge.console import bench_lines
from benchgate.judge.console.output import of_console

GOOD = """\
booting
BENCH_START kevlar
BENCH_MODE quick
BENCH getpid 10000 2640007 264\r
BENCH_SKIP pipe (no pipes)
BENCH_EXTRA pipe_throughput_MBps 3.5
\x1b[32mBENCH stat 5000 1500000 300\x1b[0m
BENCH fork_exit 3 999 333
BENCH_SKIP fork_exit (fork failed at iter 3)
BENCH_END
"""
RESULT = ResultDefinition(format=ResultFormat.BENCH_LINES, operations=("getpid", "pipe", "stat", "fork_exit"))


def test_figures_are_in_ns_for_each_operation() -> None:
    figures = bench_lines.read(of_console(GOOD.encode()).text, RESULT)
    assert (figures.unit, figures.work, figures.total) == ("ns", 4_140_007, None)
    assert figures.metrics == {"getpid": 264.0007, "stat": 300.0}
    assert figures.skipped == {"pipe": "no pipes", "fork_exit": "fork failed at iter 3"}


def test_skips_are_kept_with_their_reason() -> None:
    operations = bench_lines.parse(GOOD.replace("\x1b[32m", "").replace("\x1b[0m", ""))
    assert operations.label == "kevlar"
    assert operations.skipped == {"pipe": "no pipes", "fork_exit": "fork failed at iter 3"}
    assert set(operations.measured) == {"getpid", "stat"}
    assert (operations.measured["getpid"].after, operations.measured["getpid"].line) == (2, 3)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("BENCH_END\n", "", "printed no BENCH_END"),
        ("BENCH_END\n", "BENCH_END\nBENCH late 1 5 5\n", "printed no BENCH_END at its end"),
        ("BENCH_START kevlar\n", "", "must print one line BENCH_START"),
        ("BENCH_MODE quick\n", "BENCH_START kevlar\n", "must print one line BENCH_START"),
        ("BENCH_MODE quick\n", "BENCH stat 1 300 300\n", "the operation stat is there twice"),
        ("BENCH_MODE quick\n", "BENCH_SKIP pipe\n", "the operation pipe is there twice"),
        ("BENCH_MODE quick\n", "BENCH broken 1\n", "`BENCH broken 1` is not a line of this format"),
        ("BENCH_MODE quick\n", "BENCH_DONE\n", "`BENCH_DONE` is not a line of this format"),
        ("10000 2640007 264", "10000 2640007 266", "2640007 ns for 10000 operations is not 266 ns"),
        ("10000 2640007 264", "0 2640007 264", "getpid: 0 operations in 2640007 ns are no measurement"),
        ("BENCH_SKIP pipe (no pipes)\n", "", "the operation pipe is missing"),
    ],
)
def test_what_contradicts_itself_or_is_missing_is_refused(old: str, new: str, said: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(VerifyError) as caught:
        bench_lines.read(of_console(GOOD.replace(old, new).encode()).text, RESULT)
    assert said in str(caught.value)


def test_a_program_that_skips_everything_measured_nothing() -> None:
    text = b"BENCH_START x\nBENCH_SKIP getpid\nBENCH_END\n"
    with pytest.raises(VerifyError, match="skipped every operation"):
        bench_lines.read(
            of_console(text).text, ResultDefinition(format=ResultFormat.BENCH_LINES, operations=("getpid",))
        )
