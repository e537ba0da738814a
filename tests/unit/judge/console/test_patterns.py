"""The console of a self-test, read by the patterns of the system's YAML."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.cells import Mode
from benchgate.base.conversation import TypedLine
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun, Resolution, VerifiedRun
from benchgate.base.system.boots import ConsoleWords
from benchgate.base.system.results import ResultDefinition, ResultFormat, ResultPattern
from benchgate.base.system.script import Script, ScriptStep
from benchgate.base.system.systems import System, SystemKind
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.base.workload.workloads import Workload
from benchgate.judge import verify
from benchgate.judge.console import patterns, printed
from benchgate.judge.console.output import GuestOutput, of_console, of_conversation
from benchgate.judge.console.patterns import PrintedFigure, PrintedFigures
from benchgate.judge.run_files import RunFiles
from benchgate.plan.catalog import SELFTEST_WORKLOAD
from tests.wirekit import primes_run

RESULT = ResultDefinition(
    format=ResultFormat.PATTERNS,
    work=ResultPattern("^boot$", r"^work: (?P<value>[\d,.]+) us$", "us", 0),
    total=ResultPattern("^boot$", r"^total: (?P<value>\S+) ms$", "ms", 0),
    expect={"primes": "9592", "sum": "454396537"},
    answers=(r"primes=(?P<primes>\d+)", r"sum=(?P<sum>\d+)"),
)
MS = 1_000_000
ONLINE = r"(?P<n>\d+) CPUs up"
GOOD = b"boot\r\n2 CPUs up\r\n\x1b[32mprimes=9592\x1b[0m sum=454396537\r\nwork: 1,250.5 us\r\ntotal: 2 ms\r\n"


def read(console: bytes, result: ResultDefinition) -> PrintedFigures:
    """The figures of a console in wall time; the answers are checked first."""
    output = of_console(console)
    patterns.check_answers(patterns.answers(output, result.answers, None), result.expect or {})
    return printed.figures(output, result, None)


def system(result: ResultDefinition = RESULT, online: str = ONLINE, online_lines: str = "") -> System:
    counted = ConsoleWords(online=online, online_lines=online_lines)
    return System("mine", SystemKind.QEMU, "", Path("mine.yaml"), result=result, console=counted)


def read_all(console: bytes, result: ResultDefinition, online: str) -> None:
    read(console, result)
    patterns.online_cpus(of_console(console), system(result, online))


def verified_run(run: RawRun, codes: tuple[int, ...] | None = (0, 33), online: str = ONLINE) -> VerifiedRun:
    return verify.verify_printed(RunFiles(run), SELFTEST_WORKLOAD, system(online=online), exit_codes=codes)


def test_figures_in_nanoseconds() -> None:
    assert read(GOOD, RESULT) == PrintedFigures("ns", 1_250_500, 2_000_000, step=1_000_000)


def test_a_shifted_counter_is_shifted_back() -> None:
    result = replace(
        RESULT, work=ResultPattern("^boot$", r"cycles>>20: (?P<value>\d+)", "cycles", 20), total=None
    )
    assert read(GOOD + b"cycles>>20: 1639\n", result) == PrintedFigures(
        "cycles", 1639 << 20, None, step=1 << 20
    )


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
    late = replace(RESULT.figures["work"], begins=begins)
    with pytest.raises(VerifyError, match=reason):
        read(GOOD, replace(RESULT, work=late))


@pytest.mark.parametrize("written", ["2", "  2", "2.0", "2.", "+2", "2e0", "02"])
def test_formats_of_numbers(written: str) -> None:
    result = replace(RESULT, total=ResultPattern("^boot$", r"^total: (?P<value>.+) ms$", "ms", 0))
    assert read(GOOD.replace(b"total: 2", f"total: {written}".encode()), result).total == 2_000_000


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
        read(GOOD.replace(old, new), RESULT)


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
    assert read(console, result).work == 1_250_500


@pytest.mark.parametrize("sums", [(99, 100), (100, 98)])
def test_an_answer_must_be_right_in_every_pattern(sums: tuple[int, int]) -> None:
    """If each CPU prints the answer under the same name, one right answer does not hide a wrong one."""
    answers = (*RESULT.answers, r"^cpu0 root=(?P<root>\d+)$", r"^cpu1 root=(?P<root>\d+)$")
    result = replace(RESULT, answers=answers, expect={**(RESULT.expect or {}), "root": "100"})
    text = GOOD + b"cpu0 root=%d\ncpu1 root=%d\n" % sums
    said = f"answer root is {sums[0]} in one place of the console, and {sums[1]} in another"
    with pytest.raises(VerifyError, match=said):
        read(text, result)


def test_work_and_total_on_different_clocks_are_refused() -> None:
    result = replace(RESULT, total=ResultPattern("^boot$", r"total: (?P<value>\d+)", "cycles", 0))
    with pytest.raises(VerifyError, match="work is in ns and total in cycles"):
        read(GOOD, result)


def test_an_answer_in_an_unmatched_group_is_missing() -> None:
    result = replace(RESULT, answers=(r"primes=(?P<primes>\d+)(?: sum:(?P<sum>\d+))?",))
    with pytest.raises(VerifyError, match="answer sum is missing"):
        read(GOOD, result)


# ---- units


@pytest.mark.parametrize(
    ("pattern", "written", "figure"),
    [
        (
            ResultPattern("^boot$", r"took (?P<value>\S+)", "s"),
            "0.25",
            PrintedFigure("ns", 250_000_000, 10_000_000),
        ),
        (
            ResultPattern("^boot$", r"took (?P<value>\S+)", "ms"),
            "1.5",
            PrintedFigure("ns", 1_500_000, 100_000),
        ),
        (
            ResultPattern("^boot$", r"took (?P<value>\S+)", "ms", step=10),
            "1500",
            PrintedFigure("ns", 1500 * MS, 10 * MS),
        ),
        (
            ResultPattern("^boot$", r"took (?P<value>\S+)", "ticks", hz=100),
            "23",
            PrintedFigure("ns", 230 * MS, 10 * MS),
        ),
        (
            ResultPattern("^boot$", r"took (?P<value>\S+)", "cycles", hz=10e6),
            "23",
            PrintedFigure("ns", 2300, 100),
        ),
        (
            ResultPattern("^boot$", r"took (?P<value>\S+)", "cycles"),
            "2,300",
            PrintedFigure("cycles", 2300, 1),
        ),
        (ResultPattern("^boot$", r"took (?P<value>\S+)", "ns"), "2.3e3", PrintedFigure("ns", 2300, 100)),
    ],
)
def test_a_figure_knows_its_unit_and_its_step(
    pattern: ResultPattern, written: str, figure: PrintedFigure
) -> None:
    assert patterns.figure(GuestOutput(f"boot\ntook {written}\n"), "work", pattern) == figure


# ---- CPUs


@pytest.mark.parametrize(("lines", "count"), [("cpu 0: up\ncpu 1: up\n", 2), ("cpu 0: up\n", 1), ("", 0)])
def test_the_lines_of_cpus_are_counted(lines: str, count: int) -> None:
    said = of_console(f"boot\ncpu 9: down\n{lines}done\n".encode())
    assert patterns.online_cpus(said, system(online="", online_lines=r"^cpu \d+: up$")) == count


@given(st.binary(max_size=300))
def test_any_console_gives_figures_or_a_reason(extra: bytes) -> None:
    for text in (extra, GOOD + extra, extra + b"\n" + GOOD):
        try:
            figures = read(text, RESULT)
        except VerifyError:
            continue
        assert figures.work > 0


# ---- as a run


def test_a_verified_selftest(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD)
    verified = verified_run(run)
    assert (verified.work, verified.total, verified.unit, verified.workers) == (
        1_250_500,
        2_000_000,
        "ns",
        (),
    )


def test_the_exit_status_of_a_killed_guest_is_not_checked(tmp_path: Path) -> None:
    run = replace(primes_run(tmp_path, GOOD), exit_status=-9)
    assert verified_run(run, None).work == 1_250_500
    with pytest.raises(VerifyError, match="exit status -9"):
        verified_run(run)


def test_a_missing_cpu_is_refused(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD.replace(b"2 CPUs", b"1 CPUs"))
    with pytest.raises(VerifyError, match="2 CPUs were requested, but 1 came up"):
        verified_run(run)


def test_a_selftest_needs_a_pattern_for_its_cpus(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD)
    with pytest.raises(VerifyError, match=r"no `console\.online`, so nothing shows how many CPUs came up"):
        verified_run(run, online="")


def test_a_total_shorter_than_the_work_is_refused(tmp_path: Path) -> None:
    run = primes_run(tmp_path, GOOD.replace(b"total: 2", b"total: 1"))
    with pytest.raises(VerifyError, match="shorter than the work window"):
        verified_run(run)


# ---- as a run that is asked at a prompt


TYPED = b"boot\r\n2 CPUs up\r\n$ go 2 30\r\nstart\r\ntook 4 ticks\r\ncount=10 word=abc\r\n$ "
CAPTURE = r"^count=(?P<count>\d+) word=(?P<word>\w+)$"
ASKED = replace(
    system(),
    script=Script(r"^\$ $", (ScriptStep("go {workers} {hi}", r"^\$ $", captures=(CAPTURE,)),)),
    result=ResultDefinition(
        format=ResultFormat.PATTERNS,
        work=ResultPattern("^start$", r"^took (?P<value>\d+) ticks$", "ticks", hz=100),
    ),
)
ORACLE = """
from benchgate import VerifyError
def check(params, reports, result, run):
    if (dict(params), reports, result, run.cpus, run.work) != ({"hi": 30}, [], RIGHT, 2, 40_000_000):
        raise VerifyError(f"{params} {reports} {result} {run}")
"""


def typed_run(
    folder: Path, right: str, typed: list[dict[str, object]], console: bytes = TYPED
) -> VerifiedRun:
    run = primes_run(folder, console)
    run = replace(run, cell=replace(run.cell, workload="typed", params=(("hi", 30),)))
    (folder / "conversation.json").write_text(json.dumps({"schema": 1, "typed": typed}))
    oracle = folder / "oracle.py"
    oracle.write_text(ORACLE.replace("RIGHT", right))
    workload = Workload("typed", Mode.PROCESS, folder / "w.yaml", Path(), oracle, {}, metrics=METRICS)
    return verify.verify_printed(RunFiles(run), workload, ASKED)


METRICS = {"count": Metric("count", MetricKind.COUNT, MetricDirection.MORE, "", of="result.count")}
LINES: list[dict[str, object]] = [
    {"step": 0, "at": 19, "text": "go 2 30\n", "time": None},
    {"step": 1, "at": len(TYPED), "text": "", "time": None},
]


def test_the_answers_at_a_prompt_are_judged_by_the_workloads_oracle(tmp_path: Path) -> None:
    run = typed_run(tmp_path, '{"count": 10, "word": "abc"}', LINES)
    assert (run.unit, run.work, run.metrics["count"]) == ("ns", 40 * MS, 10)
    assert run.resolution == Resolution(0, 0, 0, 10 * MS)


def test_a_wrong_answer_at_a_prompt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="'count': 10, 'word': 'abc'"):
        typed_run(tmp_path, '{"count": 11, "word": "abc"}', LINES)


@pytest.mark.parametrize("typed", [[], LINES[:1], [{**LINES[0], "at": 18}, LINES[1]]])
def test_a_conversation_that_does_not_fit_the_console_is_refused(
    tmp_path: Path, typed: list[dict[str, object]]
) -> None:
    with pytest.raises(VerifyError, match="prompt"):
        typed_run(tmp_path, '{"count": 10, "word": "abc"}', typed)


def test_an_answer_in_the_echo_is_none(tmp_path: Path) -> None:
    """The console has the captured line as a typed one only."""
    script = Script(r"^\$ $", (ScriptStep("count=10 word=abc", r"^\$ $", captures=(CAPTURE,)),))
    console = b"boot\r\n$ count=10 word=abc\r\n$ "
    typed = (TypedLine(0, 8, b"count=10 word=abc\n", None), TypedLine(1, len(console), b"", None))
    with pytest.raises(VerifyError, match="it prompts again, and nothing before that matches"):
        of_conversation(console, script, typed)


def test_the_last_line_with_an_answer_is_numbered_as_on_the_console() -> None:
    steps = ("a\nx=1\n", "b\n\ny=2\nz=3\n")
    output = GuestOutput("".join(steps), steps, (0, 2))
    script = Script(
        "^\\$ $", (ScriptStep("a", "^\\$ $"), ScriptStep("b", "^\\$ $", captures=("^y=(?P<y>.)$",)))
    )
    assert patterns.last_answer(output, ("^x=(?P<x>.)$",), script) == 4
    assert patterns.last_answer(output, ("^z=(?P<z>.)$",), script) == 5
    assert patterns.last_answer(output, ("^x=(?P<x>.)$",), None) == 1
    assert patterns.last_answer(output, (), None) is None
