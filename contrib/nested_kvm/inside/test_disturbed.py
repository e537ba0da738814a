"""Sessions under the nested machine's KVM that are interrupted, killed, locked out, or lose the device."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from benchgate.host import lock
from contrib.nested_kvm.inside.kit import KVM, begun, ended, guests, measured, rows, session_in
from tests.machines import wait_until

LONG = '"primes", hi=3_000_000'
TERN = ("--smp=1", "--system=kernel")


def test_an_interrupt_ends_the_guest_and_frees_the_lock(tmp_path: Path) -> None:
    rows(tmp_path, LONG)
    with begun(tmp_path, *TERN) as process:
        process.send_signal(signal.SIGINT)
        code, output = ended(process)
    assert code == 2, output
    assert guests() == []
    assert lock.holder() is None
    assert "Traceback" not in output


def test_a_killed_session_leaves_no_guest_and_the_next_one_measures(tmp_path: Path) -> None:
    rows(tmp_path, LONG)
    with begun(tmp_path, *TERN) as process:
        process.send_signal(signal.SIGKILL)
        assert ended(process)[0] == -signal.SIGKILL
    wait_until(lambda: guests() == [])
    session = measured(tmp_path, *TERN, "--runs=1")
    assert session.code == 0, session.output


def test_a_second_session_waits_and_is_told_who_measures(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    # The first run alone is longer than the second session needs to start: with one CPU every run beside a
    # start is void, and a sweep of void runs ends early.
    for folder, workload in ((first, '"primes", hi=20_000_000'), (second, LONG)):
        folder.mkdir()
        rows(folder, workload)
    with begun(first, *TERN) as process:
        late = measured(second, *TERN, "--runs=1", "--lock-wait=1")
        process.send_signal(signal.SIGINT)
        ended(process)
    assert late.code == 4, late.output
    assert f"process {process.pid}" in " ".join(late.output.split())


@contextmanager
def renamed() -> Iterator[None]:
    """The device has another name, also while a guest has it open."""
    away = KVM.with_name("kvm.away")
    KVM.rename(away)
    try:
        yield
    finally:
        away.rename(KVM)


@contextmanager
def removed() -> Iterator[None]:
    """The module is out of the kernel, which is possible between two boots only."""
    remove = ["rmmod", "kvm-amd"]
    wait_until(lambda: subprocess.run(remove, capture_output=True, check=False).returncode == 0)
    assert not KVM.exists()
    try:
        yield
    finally:
        subprocess.run(["modprobe", "kvm-amd", "pause_filter_count=0"], check=True)


@pytest.mark.parametrize("gone", [renamed, removed])
def test_kvm_that_goes_in_the_middle_is_named_and_gives_no_figure(
    tmp_path: Path, gone: Callable[[], AbstractContextManager[None]]
) -> None:
    """The runs so far are kept; no later one is counted."""
    rows(tmp_path, LONG)
    with begun(tmp_path, *TERN) as process, gone():
        code, output = ended(process)
    session = session_in(tmp_path, code, output)
    assert session.code == 1, output
    assert "INVALID" in output
    assert "failed to initialize kvm: No such file or directory" in " ".join(output.split())
    assert "Traceback" not in output
    assert [row["outcome"] for row in session.rows].count("ok") <= 1
