"""The whole line with real guests under TCG: what a user gets, and what must be refused.

Nothing here may be skipped, and no wall figure is asked to be good: what is asserted is that the line ran,
that every run verified, and that each verdict follows from the figures.
"""

from __future__ import annotations

import os
import re
import statistics
from pathlib import Path

import pytest

from tests.line.sessions import (
    CELLS,
    GATED,
    REPO,
    Session,
    linux_with,
    run_benchgate,
    run_on_wall_time,
    run_pytest,
    write_test,
)

TCG = ("--accel=tcg", "--clock=wall")
SMALL = '"primes", hi=200_000'
BOOTS = """\
import pexpect
import pytest


@pytest.mark.workload("primes", hi=10_000)
def test_boots(image, boot):
    assert image.kernel.is_file()
    guest = boot(cpus=2)
    guest.console.expect("^benchready|[\\r\\n]benchready")
    guest.console.expect(r"@bench begin [^\\r\\n]* online=(\\d+)")
    assert guest.console.match[1] == b"2"
    guest.console.expect(pexpect.EOF)
"""
LOCKED = """\
import os
import pytest
from benchgate.host import lock


@pytest.mark.smp
@pytest.mark.workload("primes", hi=10_000)
def test_who_measures(cell):
    cell.require_verified()
    holder = lock.holder()
    assert (holder is not None and holder.pid == os.getpid()) is {holds}
"""


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path


def test_a_quick_session_runs_the_whole_line_and_decides_nothing(where: Path) -> None:
    """On the default clock: one lane, named in every row, whichever this host qualifies for."""
    picked = "test_every_run_is_right or test_scales"
    session = run_pytest(where, REPO / "tests" / "smp", "--quick", "--smp=1,2", "-m", "smp", "-k", picked)
    assert session.code == 5, session.said
    assert "SKIP: nothing was decided" in session.said
    assert re.search(r"^benchgate: \[1/\d\] primes[.]hi-[0-9]+-linux-smp[12] ", session.said, re.MULTILINE)
    assert [session.outcomes(cpus) for cpus in (1, 2)] == [["ok"], ["ok"]]
    assert {row["outcome"] for row in session.rows} == {"warmup", "ok"}
    assert {row["verified"] for row in session.rows} == {"true"}
    assert len({row["lane"] for row in session.rows}) == 1
    assert all(0 < int(row["work"]) <= int(row["total"]) for row in session.rows)
    assert {verdict["outcome"] for verdict in session.verdicts} == {"SKIP"}

    code, said = run_benchgate(where, "verify", session.folder)
    assert code == 0, said
    code, said = run_benchgate(where, "rejudge", session.folder)
    assert code == 5, said
    for verdict in session.verdicts:
        assert verdict["reason"] in " ".join(said.split())


@pytest.mark.parametrize(("lane", "holds"), [("insn", False), ("wall", True)])
def test_only_what_the_hosts_load_can_change_holds_the_hosts_lock(
    where: Path, lane: str, holds: bool
) -> None:
    (where / "test_lock.py").write_text(LOCKED.format(holds=holds))
    words = ("--system=kernel", "--smp=1", "--runs=1", "--seeds=1", "--accel=tcg", f"--clock={lane}")
    session = run_pytest(where, *words)
    assert "1 passed" in session.said
    assert session.outcomes(1, "kernel") == ["ok"]


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One session for all that can be seen on it: eleven boots, on the clock that no busy host can disturb;
    on wall time one run of ten may well meet a stall."""
    where = tmp_path_factory.mktemp("gated")
    write_test(where, GATED, SMALL)
    return run_pytest(where, "--clock=insn", "--smp=1,2")


def test_a_gate_follows_from_its_figures(gated: Session) -> None:
    assert [gated.outcomes(cpus) for cpus in (1, 2)] == [["ok"] * 5, ["ok"] * 5], gated.said
    rows = [row for row in gated.rows if row["system"] == "linux" and row["outcome"] == "ok"]
    work = {cpus: [int(row["work"]) for row in rows if row["cpus"] == str(cpus)] for cpus in (1, 2)}
    ratio = statistics.median(work[1]) / statistics.median(work[2])
    (verdict,) = gated.verdicts
    assert verdict["system"] == "linux"
    assert verdict["ratio"] == pytest.approx(ratio)
    assert verdict["low"] <= ratio <= verdict["high"]
    assert min(work[1]) / max(work[2]) <= verdict["low"]
    assert verdict["high"] <= max(work[1]) / min(work[2])
    assert (verdict["outcome"], verdict["low"] > 1.9) == ("PASS", True)
    assert verdict["reason"].startswith(
        f"{verdict['outcome']}: primes.hi-200000-linux smp2/smp1 = {ratio:.2f}"
    )
    assert run_benchgate(gated.folder, "verify", gated.folder)[0] == 0


def test_the_exit_code_follows_from_the_verdicts(gated: Session) -> None:
    words = {verdict["outcome"] for verdict in gated.verdicts}
    assert words <= {"PASS", "FAIL", "INVALID", "INCONCLUSIVE"}
    due = 1 if words & {"FAIL", "INVALID"} else 75 if "INCONCLUSIVE" in words else 0
    assert gated.code == due, gated.said


def test_a_users_own_test_boots_a_guest_and_talks_to_its_console(where: Path) -> None:
    (where / "test_own.py").write_text(BOOTS)
    session = run_pytest(where, "-v", *TCG)
    assert session.code == 0, session.said
    assert "test_boots[primes.hi-10000-linux] PASSED" in session.said


def test_a_busy_guest_is_no_result(where: Path) -> None:
    write_test(where, CELLS, '"primes"')
    busy = linux_with(where, "busy", "bench.busy=1")
    session = run_pytest(where, f"--system={busy}", "--smp=1", "--runs=1", *TCG)
    assert session.code == 1, session.said
    assert {row["outcome"] for row in session.rows} == {"invalid"}
    assert {row["work"] for row in session.rows} == {""}
    assert "INVALID: primes-busy-smp1: " in session.said
    assert "the guest was not quiet: others used" in session.said


def test_a_guest_with_fewer_cpus_than_asked_is_no_result(where: Path) -> None:
    write_test(where, CELLS, SMALL)
    short = linux_with(where, "short", "maxcpus=1")
    session = run_pytest(where, f"--system={short}", "--smp=2", "--runs=1", *TCG)
    assert session.code == 1, session.said
    assert {row["verified"] for row in session.rows} == {"false"}
    assert "INVALID: primes.hi-200000-short-smp2: " in session.said
    assert "1 came up" in session.said


def test_more_vcpus_than_pins_are_functional_only(where: Path) -> None:
    """That a gate over such an arm is SKIP is seen without a guest, in tests/plugin/test_usage.py."""
    write_test(where, CELLS, SMALL)
    one = f"--cpus={min(os.sched_getaffinity(0))}"
    session = run_on_wall_time(where, one, "--oversubscribe", "--smp=4", "--runs=1")
    assert session.code == 0, session.said
    assert session.outcomes(4) == ["ok"]
    assert {row["placement"] for row in session.rows} == {"oversubscribed"}


def test_native_linux_stands_beside_the_guest(where: Path) -> None:
    write_test(where, CELLS, SMALL)
    session = run_on_wall_time(where, "--system=linux", "--system=native", "--smp=1,2", "--runs=1")
    assert {row["system"]: row["lane"] for row in session.rows} == {"linux": "tcg", "native": "native"}
    assert [session.outcomes(cpus, "native") for cpus in (1, 2)] == [["ok"]] * 2
    assert "Side by side" in session.said
    assert "## Side by side" in (session.folder / "summary.md").read_text()
