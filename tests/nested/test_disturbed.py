"""Sessions under the nested machine's KVM that are interrupted, killed, locked out, or lose the device."""

from __future__ import annotations

import signal
from pathlib import Path

from benchgate.host import lock
from tests.machines import wait_until
from tests.nestedkit import KVM, begun, ended, guests, measured, rows, session_in

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
    for one in (first, second):
        one.mkdir()
        rows(one, LONG)
    with begun(first, *TERN) as process:
        late = measured(second, *TERN, "--runs=1", "--lock-wait=1")
        process.send_signal(signal.SIGINT)
        ended(process)
    assert late.code == 4, late.output
    assert f"process {process.pid}" in " ".join(late.output.split())


def test_a_device_that_goes_in_the_middle_is_named_and_gives_no_figure(tmp_path: Path) -> None:
    """The runs so far are kept; no later one is counted."""
    rows(tmp_path, LONG)
    away = KVM.with_name("kvm.away")
    with begun(tmp_path, *TERN) as process:
        KVM.rename(away)
        try:
            code, output = ended(process)
        finally:
            away.rename(KVM)
    session = session_in(tmp_path, code, output)
    assert session.code == 1, output
    assert "INVALID" in output
    assert "failed to initialize kvm: No such file or directory" in " ".join(output.split())
    assert "Traceback" not in output
    assert [row["outcome"] for row in session.rows].count("ok") <= 1
