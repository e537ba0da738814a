"""Recorded consoles of failed runs: each is refused, with a reason that says what happened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.runs import Ending
from benchgate.judge import verify, wire
from benchgate.judge.run_files import RunFiles
from benchgate.judge.wire_lines import WireError
from benchgate.run.thread_use import keep_samples
from tests.unit.noise import counters
from tests.wirekit import NONCE, PRIMES, primes_run, raw_run, recorded


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("truncated", "ends after its worker line; the end line is missing"),
        ("truncated-mid-line", "line 10: it is truncated: it has no line ending"),
        ("printk-inside-a-line", "does not end with a CRC"),
        ("torn", "seq=3, expected 2: a line is missing, duplicate or out of order"),
        ("panic-linux", "the guest printed `.*Kernel panic - not syncing: VFS"),
    ],
)
def test_a_broken_console_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        wire.parse(recorded(name), nonce=NONCE)
    with pytest.raises(VerifyError):
        verify.verify(RunFiles(primes_run(tmp_path, recorded(name))), PRIMES)


def test_a_kernel_message_between_bench_lines_is_accepted(tmp_path: Path) -> None:
    verify.verify(RunFiles(primes_run(tmp_path, recorded("printk-between-lines"))), PRIMES)


def test_a_busy_guest_is_refused_although_every_line_is_valid(tmp_path: Path) -> None:
    params = (("hi", 3_000_000), ("split", "cost"), ("wait", "join"))
    run = raw_run(tmp_path, recorded("busy-linux-primes-smp2"), params)
    keep_samples(run.folder, counters(delays=(0, 0)))  # the host was quiet
    with pytest.raises(
        VerifyError,
        match=r"not quiet: .* used \d+ ns of CPU time, \d+\.\d% of the work window",
    ):
        verify.verify(RunFiles(run), PRIMES)


def test_another_runs_console_is_refused(tmp_path: Path) -> None:
    run = replace(primes_run(tmp_path, recorded("good-linux-primes-smp2")), nonce="0123456789abcdef")
    with pytest.raises(VerifyError, match=f"nonce {NONCE} is not this run's 0123456789abcdef"):
        verify.verify(RunFiles(run), PRIMES)


def test_the_reason_of_a_run_that_panicked_quotes_the_panic(tmp_path: Path) -> None:
    run = replace(primes_run(tmp_path, recorded("panic-linux")), ending=Ending.PANIC, exit_status=0)
    with pytest.raises(VerifyError, match=r"ended with panic; the guest printed `.*Kernel panic"):
        verify.verify(RunFiles(run), PRIMES)


def test_a_failure_that_ended_the_run_is_quoted_once(tmp_path: Path) -> None:
    run = replace(primes_run(tmp_path, recorded("panic-linux")), ending=Ending.PANIC, exit_status=0)
    line = wire.failure_line(RunFiles(run).console)
    assert line
    with pytest.raises(VerifyError) as seen:
        verify.verify(RunFiles(replace(run, detail=f"the guest panicked: {line}")), PRIMES)
    assert str(seen.value).count(line) == 1


def test_a_window_line_after_its_result_line_is_refused(tmp_path: Path) -> None:
    text = recorded("good-linux-primes-smp2")
    lines = text.split(b"\r\n")
    at = next(number for number, line in enumerate(lines) if line.startswith(b"@bench window"))
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    with pytest.raises(WireError, match="missing, duplicate or out of order"):
        wire.parse(b"\r\n".join(lines), nonce=NONCE)


def test_a_duplicate_line_is_refused(tmp_path: Path) -> None:
    text = recorded("good-linux-primes-smp2")
    line = next(line for line in text.split(b"\r\n") if line.startswith(b"@bench result"))
    with pytest.raises(WireError, match="missing, duplicate or out of order"):
        wire.parse(text.replace(line, line + b"\r\n" + line), nonce=NONCE)
