"""The console of a self-test, read by the patterns of the system's YAML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.errors import VerifyError
from benchgate.base.systems import Result, ResultFormat, ResultPattern
from benchgate.judge import patterns, verify
from benchgate.judge.run_files import RunFiles
from tests.wirekit import primes_run

RESULT = Result(
    format=ResultFormat.PATTERNS,
    work=ResultPattern("^boot$", r"^work: (?P<value>[\d,.]+) us$", "us", 0),
    total=ResultPattern("^boot$", r"^total: (?P<value>\S+) ms$", "ms", 0),
    expect={"primes": "9592", "sum": "454396537"},
    answers=(r"primes=(?P<primes>\d+)", r"sum=(?P<sum>\d+)"),
)
ONLINE = r"(?P<n>\d+) CPUs up"
GOOD = b"boot\r\n2 CPUs up\r\n\x1b[32mprimes=9592\x1b[0m sum=454396537\r\nwork: 1,250.5 us\r\ntotal: 2 ms\r\n"


def read_all(console: bytes, result: Result, online: str) -> None:
    patterns.read(console, result)
    patterns.online_cpus(console, online)


def test_figures_in_nanoseconds() -> None:
    assert patterns.read(GOOD, RESULT) == patterns.Figures("ns", 1_250_500, 2_000_000)


def test_a_shifted_counter_is_shifted_back() -> None:
    result = replace(
        RESULT, work=ResultPattern("^boot$", r"cycles>>20: (?P<value>\d+)", "cycles", 20), total=None
    )
    assert patterns.read(GOOD + b"cycles>>20: 1639\n", result) == patterns.Figures("cycles", 1639 << 20, None)


@pytest.mark.parametrize(
    ("begins", "reason"),
    [
        ("^work begins$", r"work\.begins: nothing on the console matches `\^work begins\$`"),
        ("boot|up", r"work\.begins: `boot\|up` matches more than once"),
        ("^work:", r"work: the figure is in line 4 of the console, and its time begins with line 4"),
        ("^total:", r"work: the figure is in line 4 of the console, and its time begins with line 5"),
    ],
)
def test_the_line_with_which_a_figures_time_begins_is_before_the_figure(begins: str, reason: str) -> None:
    assert RESULT.work is not None
    with pytest.raises(VerifyError, match=reason):
        patterns.read(GOOD, replace(RESULT, work=replace(RESULT.work, begins=begins)))


@pytest.mark.parametrize("written", ["2", "  2", "2.0", "2.", "+2", "2e0", "02"])
def test_formats_of_numbers(written: str) -> None:
    result = replace(RESULT, total=ResultPattern("^boot$", r"^total: (?P<value>.+) ms$", "ms", 0))
    assert patterns.read(GOOD.replace(b"total: 2", f"total: {written}".encode()), result).total == 2_000_000


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"9592", b"9591", "wrong answer: primes is 9591, expected 9592"),
        (b"sum=", b"sun=", "answers: nothing on the console matches"),
        (b"work:", b"wonk:", "work: nothing on the console matches"),
        (b"2 CPUs up", b"work: 1 us", "work: .* matches more than once"),
        (b"1,250.5", b"1.2.3", "work: `1.2.3` is not a number"),
        (b"1,250.5", b"0", "work: 0 is not a positive duration"),
        (b"1,250.5", b"1,25", "work: `1,25` is not a number"),
        (b"1,250.5", b"0,750", "work: `0,750` is not a number"),
        (b"1,250.5", b"1.250,5", "work: `1.250,5` is not a number"),
        (b"total: 2", "total: \u0661\u0662".encode(), "total: `\u0661\u0662` is not a number"),
        (b"total: 2", b"total: 1_0", "total: `1_0` is not a number"),
        (b"total: 2", b"total: NaN", "total: `NaN` is not a number"),
        (b"total: 2", b"total: 1e30", "is not a positive duration"),
        (b"total: 2", b"total: 9e15", "out of range"),
    ],
)
def test_a_wrong_or_ambiguous_console_is_refused(old: bytes, new: bytes, reason: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(VerifyError, match=reason):
        patterns.read(GOOD.replace(old, new), RESULT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"1,250.5", b"1,250\x1b[2D.5"),  # a terminal shows 1,2.5
        (b"1,250.5", b"91,250.5\x1b[10D\x1b[P"),
        (b"1,250.5", b"1,250.5\b\b9"),
        (b"9592", b"95\x1b[K92"),
        (b"2 CPUs up", b"2\x1b[1;1H CPUs up"),
    ],
)
def test_a_line_that_moves_the_cursor_is_not_what_a_terminal_shows(old: bytes, new: bytes) -> None:
    loose = replace(RESULT, work=ResultPattern("^boot$", r"^work: (?P<value>[\d,.]+)", "us", 0))
    console = GOOD.replace(old, new)
    with pytest.raises(VerifyError, match=r"moves the cursor|nothing on the console matches"):
        read_all(console, RESULT, ONLINE)
    with pytest.raises(VerifyError, match="moves the cursor"):
        read_all(console, loose, r"^(?P<n>\d+)")


def test_a_cursor_that_moves_before_or_after_the_text_of_a_line_does_no_harm() -> None:
    console = GOOD.replace(b"work:", b"\x1b[2J \x1b[1;1Hwork:").replace(b" us", b" us\x1b[K ")
    result = replace(RESULT, work=ResultPattern("^boot$", r"^ work: (?P<value>[\d,.]+) us $", "us", 0))
    assert patterns.read(console, result).work == 1_250_500


@pytest.mark.parametrize(("sums", "wrong"), [((99, 100), 99), ((100, 98), 98)])
def test_an_answer_must_be_right_in_every_pattern(sums: tuple[int, int], wrong: int) -> None:
    """If each CPU prints the answer under the same name, one right answer does not hide a wrong one."""
    answers = (*RESULT.answers, r"^cpu0 root=(?P<root>\d+)$", r"^cpu1 root=(?P<root>\d+)$")
    result = replace(RESULT, answers=answers, expect={**(RESULT.expect or {}), "root": "100"})
    text = GOOD + b"cpu0 root=%d\ncpu1 root=%d\n" % sums
    with pytest.raises(VerifyError, match=f"wrong answer: root is {wrong}, expected 100"):
        patterns.read(text, result)


def test_work_and_total_on_different_clocks_are_refused() -> None:
    result = replace(RESULT, total=ResultPattern("^boot$", r"total: (?P<value>\d+)", "cycles", 0))
    with pytest.raises(VerifyError, match="work is in ns and total in cycles"):
        patterns.read(GOOD, result)


def test_a_yaml_without_an_expected_answer_verifies_nothing() -> None:
    with pytest.raises(VerifyError, match="no expected answer"):
        patterns.read(GOOD, replace(RESULT, expect={}, answers=()))


def test_an_answer_in_an_unmatched_group_is_missing() -> None:
    result = replace(RESULT, answers=(r"primes=(?P<primes>\d+)(?: sum:(?P<sum>\d+))?",))
    with pytest.raises(VerifyError, match="answer sum is missing"):
        patterns.read(GOOD, result)


@given(st.binary(max_size=300))
def test_any_console_gives_figures_or_a_reason(extra: bytes) -> None:
    for text in (extra, GOOD + extra, extra + b"\n" + GOOD):
        try:
            figures = patterns.read(text, RESULT)
        except VerifyError:
            continue
        assert figures.work > 0


# ---- as a run


def test_a_verified_selftest(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD)
    verified = verify.verify_selftest(RunFiles(run), RESULT, online=ONLINE)
    assert (verified.work, verified.total, verified.unit, verified.workers) == (
        1_250_500,
        2_000_000,
        "ns",
        (),
    )


def test_the_exit_status_of_a_killed_guest_is_not_checked(tmp_path: Path) -> None:
    run = replace(primes_run(tmp_path, GOOD), exit_status=-9)
    assert verify.verify_selftest(RunFiles(run), RESULT, online=ONLINE, exit_codes=None).work == 1_250_500
    with pytest.raises(VerifyError, match="exit status -9"):
        verify.verify_selftest(RunFiles(run), RESULT, online=ONLINE)


def test_a_missing_cpu_is_refused(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD.replace(b"2 CPUs", b"1 CPUs"))
    with pytest.raises(VerifyError, match="2 CPUs were requested, but 1 came up"):
        verify.verify_selftest(RunFiles(run), RESULT, online=ONLINE)


def test_a_selftest_needs_a_pattern_for_its_cpus(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD)
    with pytest.raises(VerifyError, match=r"no `console\.online`, so nothing shows how many CPUs came up"):
        verify.verify_selftest(RunFiles(run), RESULT, online="")


def test_a_total_shorter_than_the_work_is_refused(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD.replace(b"total: 2", b"total: 1"))
    with pytest.raises(VerifyError, match="shorter than the work window"):
        verify.verify_selftest(RunFiles(run), RESULT, online=ONLINE)
