"""A vCPU that was idle all the time did no work, whatever the guest says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import VerifyError
from benchgate.judge.console.printed import check_threads
from benchgate.judge.run_files import RunFiles
from benchgate.run.thread_use import UseSample, keep_samples
from tests.unit.factories import cell, raw_run
from tests.unit.noise import SECOND, counters


def check(
    folder: Path, samples: tuple[UseSample, ...], unit: str = "ns", work: int = SECOND, *, cpus: int = 2
) -> str:
    keep_samples(folder, samples)
    return check_threads(RunFiles(raw_run(cell(cpus), folder=folder)), unit, work)


def busy(vcpu_1_ns: int, **more: Any) -> tuple[UseSample, ...]:
    """The account of two vCPUs: the first was busy for a second."""
    return counters((0, 0), idle={1: SECOND - vcpu_1_ns}, **more)


def test_a_vcpu_may_work_little(tmp_path: Path) -> None:
    assert not check(tmp_path, busy(SECOND // 20))  # a tenth of the half that each had to do


def test_a_vcpu_for_which_the_host_had_no_time_is_not_refused(tmp_path: Path) -> None:
    assert not check(tmp_path, counters((0, SECOND)))


@pytest.mark.parametrize("ends", ["result", "end"])
def test_a_vcpu_that_was_idle_is_named(tmp_path: Path, ends: str) -> None:
    said = r"window is 1000000000 ns long, .* vCPU 1 ran or waited for the host for only 49999999 ns"
    with pytest.raises(VerifyError, match=said):
        check(tmp_path, busy(SECOND // 20 - 1, ends=ends))


def test_a_cycle_is_taken_for_as_short_as_it_can_be(tmp_path: Path) -> None:
    assert not check(tmp_path, busy(1), "cycles", 100)
    with pytest.raises(VerifyError, match="vCPU 1"):
        check(tmp_path, busy(1), "cycles", 10 * SECOND)


@pytest.mark.parametrize(
    "seen", [counters((0, None)), counters((0,)), busy(0)[:2], ()], ids=["none", "one", "gone", "nothing"]
)
def test_without_an_account_of_every_thread_the_run_is_void(
    tmp_path: Path, seen: tuple[UseSample, ...]
) -> None:
    assert "nothing shows that each of its 2 CPUs worked" in check(tmp_path, seen)


def test_a_ready_line_that_was_read_late_hides_no_work(tmp_path: Path) -> None:
    """A busy host may look at the threads when most of the window is over."""
    start, ready, result = busy(SECOND)
    late = replace(ready, t_ns=result.t_ns - SECOND + 1, threads=result.threads)
    assert not check(tmp_path, (start, late, result))
    with pytest.raises(VerifyError, match="for only 0 ns"):
        check(tmp_path, (start, replace(late, t_ns=late.t_ns - 1), result))
    with pytest.raises(VerifyError, match="for only 7 ns"):
        check(tmp_path, (start, late, busy(7)[2]))


def test_a_single_cpu_needs_no_account(tmp_path: Path) -> None:
    assert not check(tmp_path, (), cpus=1)
