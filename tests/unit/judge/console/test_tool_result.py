"""What a program printed becomes exact whole numbers, or a reason that names the number and the program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.workload.workloads import Capture, Take, Tool
from benchgate.judge import wire
from benchgate.judge.console import tool_result
from benchgate.judge.wire import Transcript
from tests.wirekit import NONCE, console

TOOL = Tool("pkg", "prog", captures=(Capture("seconds", r"^Time: (\S+)$", decimals=9),))
PRINTED = "Running\nTime: 0.123\n"
JSON = '# a note\n{"n": 3, "thread": {"0": {"max": 7, "avg": 1.25}, "1": {"max": 9}}, "list": [4, 5]}\nT: 0\n'


def transcript(text: str, exit_status: int = 0, left: int = 0) -> Transcript:
    said = wire.parse(
        console(
            f"begin v=2 nonce={NONCE} system=linux workload=w mode=process workers=1 online=1 unit=ns"
            " hz=1000000000",
            f"worker id=0 cpu=0 cpu_end=0 start=10 end=20 exit={exit_status} left={left}",
            "window work_start=10 work_end=20 total_start=5 total_end=25",
            f"result printed={len(text.encode())}",
            "foreign time=0",
        ),
        nonce=NONCE,
    )
    return replace(said, output=text.encode())


def value(capture: Capture, text: str) -> int:
    return tool_result.read(replace(TOOL, captures=(capture,)), transcript(text))[capture.name]


def test_the_result_has_the_programs_numbers_beside_the_runners() -> None:
    found = tool_result.with_result(TOOL, transcript(PRINTED))
    assert dict(found.result) == {"printed": 20, "seconds": 123_000_000}


@pytest.mark.parametrize(
    ("capture", "text", "expected"),
    [
        (Capture("n", r"^n=(\S+)$"), "n=18446744073\n", 18_446_744_073),
        (Capture("n", r"^n=(\S+)$", decimals=3), "n=.5", 500),
        (Capture("n", r"^n=(\S+)$", decimals=6), "n=1.5e-3", 1500),
        (Capture("n", r"^n=(\S+)$"), "n=12.0", 12),
        (Capture("n", r"^n=(\S+)$", take=Take.SUM), "n=1\nn=2\nn=4", 7),
        (Capture("n", r"^n=(\S+)$", take=Take.MOST), "n=1\nn=20\nn=4", 20),
        (Capture("n", r"^n=(\S+)$", take=Take.LEAST), "n=3\nn=20\nn=4", 3),
        (Capture("n", path="n"), JSON, 3),
        (Capture("n", path="thread.*.max", take=Take.MOST), JSON, 9),
        (Capture("n", path="thread.0.avg", decimals=2), JSON, 125),
        (Capture("n", path="list.1"), JSON, 5),
    ],
)
def test_numbers_are_exact(capture: Capture, text: str, expected: int) -> None:
    assert value(capture, text) == expected


@pytest.mark.parametrize(
    ("capture", "text", "message"),
    [
        (Capture("n", r"^n=(\S+)$"), "", r"prog printed 0 values of n .*expected one; it printed nothing"),
        (Capture("n", r"^n=(\S+)$"), "n=1\nn=2\n", r"prog printed 2 values of n .*its last line: `n=2`"),
        (Capture("n", r"^n=(\S+)$", take=Take.SUM), "x", r"printed 0 values of n .*expected some"),
        (Capture("n", r"^n=(\S+)$"), "n=1.5", r"n of prog: 1\.5 has more than 0 decimals"),
        (Capture("n", r"^n=(\S+)$"), "n=-1", r"`-1` is not a number from 0"),
        (Capture("n", r"^n=(\S+)$"), "n=nan", r"`nan` is not a number"),
        (Capture("n", r"^n=(\S+)$"), "n=1_0", r"`1_0` is not a number"),
        (Capture("n", r"^n=(\S+)$"), f"n={'9' * 20}", r"n of prog is too large"),
        (Capture("n", r"^n=(\S+)$"), "n=1e99", r"is too large"),
        (Capture("n", path="n"), "{", r"what it printed is not JSON"),
        (Capture("n", path="n"), '{"n": NaN}', r"NaN is not a JSON number"),
        (Capture("n", path="n"), '{"n": "3"}', r"a value at its path is not a number"),
        (Capture("n", path="n"), '{"n": true}', r"a value at its path is not a number"),
        (Capture("n", path="m.x"), JSON, r"printed 0 values of n \(`m.x`\)"),
        (Capture("n", path="n"), "{" * 100_000 + "}", r"is not JSON"),
    ],
)
def test_what_is_no_number_is_refused(capture: Capture, text: str, message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        value(capture, text)


def test_a_program_that_failed_is_refused_with_its_last_line() -> None:
    with pytest.raises(VerifyError, match=r"prog ended with status 2, not with status 0; .*`no such option`"):
        tool_result.read(TOOL, transcript(f"{PRINTED}no such option\n\n", 2))
    with pytest.raises(VerifyError, match="prog ended with signal 11, not with status 0"):
        tool_result.read(TOOL, transcript(PRINTED, 139))
    assert tool_result.read(replace(TOOL, exit=2), transcript(PRINTED, 2)) == {"seconds": 123_000_000}


def test_a_program_that_left_processes_behind_is_refused() -> None:
    with pytest.raises(VerifyError, match="a process that it had started was still running"):
        tool_result.read(TOOL, transcript(PRINTED, left=1))


def test_what_shows_that_it_worked_must_be_there() -> None:
    tool = replace(TOOL, worked=("^passed: [1-9]", "^failed: 0$"))
    assert tool_result.read(tool, transcript(f"{PRINTED}passed: 2\nfailed: 0\n"))
    with pytest.raises(
        VerifyError, match=r"prog printed nothing that matches `\^failed: 0\$`, which shows that"
    ):
        tool_result.read(tool, transcript(f"{PRINTED}passed: 2\nfailed: 1\n"))


def test_missing_output_is_refused() -> None:
    with pytest.raises(VerifyError, match="output lines of prog are missing"):
        tool_result.read(TOOL, replace(transcript(PRINTED), output=PRINTED.encode()[:-1]))


def test_the_run_must_be_of_one_worker_with_an_exit_status() -> None:
    said = transcript(PRINTED)
    for reports in ((), said.reports * 2, (replace(said.reports[0], values={"exit": 0}),)):
        with pytest.raises(VerifyError, match="it needs one worker with its exit status"):
            tool_result.read(TOOL, replace(said, reports=reports))


def test_hostile_text_in_a_reason_is_visible() -> None:
    with pytest.raises(VerifyError) as caught:
        tool_result.read(TOOL, transcript("\x1b[31m::set-output name=x\n", 1))
    assert "\x1b" not in str(caught.value)
