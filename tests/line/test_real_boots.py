"""Whole sessions with real guests under TCG: what a user gets, and what must be refused.

No test here is skipped and none expects a good wall time. The tests assert that the session ran, that every
run verified, and that each verdict follows from the figures.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchgate.insn.log_reader import read_log
from benchgate.judge import wire
from benchgate.judge.accounts import attribution
from benchgate.judge.run_files import read_console
from benchgate.run.record import load
from tests.line.sessions import (
    CELLS,
    LOCK_HOLDER,
    Session,
    linux_with,
    run_benchgate,
    run_on_wall_time,
    run_pytest,
    write_test,
)

TCG = ("--accel=tcg", "--clock=wall")
SMALL = '"primes", hi=200_000'
CROWDED_STEPS = 20_000
BOOTS = """\
import pexpect
import pytest


@pytest.mark.workload("primes", hi=10_000)
def test_boots(image, boot):
    assert image.kernel.is_file()
    guest = boot(cpus=CPUS)
    guest.console.expect("^benchready|[\\r\\n]benchready")
    guest.console.expect(r"@bench begin [^\\r\\n]* online=(\\d+)")
    assert guest.console.match[1] == b"CPUS"
    guest.console.expect(pexpect.EOF)
"""


BOOT_INSTRUCTIONS, BOOT_TRAPS = 800_000_000, 18_000
"""430 million and 9,600 are usual. A kernel that unpacks itself needs 720 million more. A trapped read of the
TSC costs the host as much as thousands of instructions; there were 30,000."""

SHORT = """\
import pytest


@pytest.mark.workload("primes", hi=10_000)
def test_every_run_is_right(cell):
    cell.require_verified()
"""


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path


def test_a_quick_session_measures_and_decides_nothing(dropped_ipis: Session) -> None:
    """The system has a defect, and a session with decisions would say FAIL."""
    session, system = dropped_ipis, "kernel.fault-drop-ipi"
    assert session.code == 5, session.output
    assert "SKIP: nothing was decided" in session.output
    assert re.search(
        rf"^benchgate: \[1/3\] tasks[.]steps-[0-9]+-{system}-smp[12] ", session.output, re.MULTILINE
    )
    assert [session.outcomes(cpus, system) for cpus in (1, 2)] == [["ok"], ["ok"]]
    assert {row["outcome"] for row in session.rows} == {"warmup", "ok"}
    assert {row["verified"] for row in session.rows} == {"true"}
    assert {row["lane"] for row in session.rows} == {"insn"}
    assert all(0 < int(row["work"]) <= int(row["total"]) for row in session.rows)
    words = [(verdict["gate"], verdict["outcome"]) for verdict in session.verdicts]
    assert words == [("speedup", "SKIP"), ("verified", "PASS"), ("verified", "PASS")]

    code, output = run_benchgate(session.folder, "verify", session.folder)
    assert code == 0, output
    code, output = run_benchgate(session.folder, "rejudge", session.folder)
    assert code == 5, output
    assert session.verdicts[0]["reason"] in " ".join(output.split())


def test_the_instruction_clock_keeps_guests_to_the_cpus_of_the_option(dropped_ipis: Session) -> None:
    cpu = max(os.sched_getaffinity(0))
    note = f"--cpus {cpu}: on lane insn guests are kept to these host CPUs"
    assert note in dropped_ipis.output
    assert note in (dropped_ipis.folder / "summary.md").read_text()
    seen = [json.loads(path.read_text()) for path in dropped_ipis.folder.glob("runs/*/affinity.json")]
    assert len(seen) == len(dropped_ipis.rows)
    assert {tuple(thread["found"]) for threads in seen for thread in threads} == {(cpu,)}


BASELINE = """\
import pytest

pytestmark = [pytest.mark.threads, pytest.mark.workload("checksum", blocks=8_192)]


def test_every_run_is_right(cell):
    cell.require_verified()


@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.9)
def test_scales(verdict):
    verdict.require_pass()
"""


@pytest.mark.alone
def test_both_clocks_measure_and_one_decides(where: Path) -> None:
    """The host decides which clock decides. All that follows does not depend on it."""
    (where / "test_baseline.py").write_text(BASELINE)
    session = run_on_wall_time(where, "--system=kernel", "--system=native", "--clock=both", "--smp=1,2")
    facts = json.loads((session.folder / "session.json").read_text())
    decides = facts["clocks"]["decides"]
    of = {one["id"]: one for one in session.verdicts if one["gate"] == "speedup"}
    rows = ("kernel-wall", "kernel-insn", "native-wall")
    assert list(of) == [f"checksum.blocks-8192-{row}-smp2" for row in rows]
    wall, *rest = [one["lane"] for one in of.values()]
    assert (wall in ("tcg", None), rest) == (True, ["insn", "native"])  # None: the host voided its runs
    verified = {one["id"]: one["outcome"] for one in session.verdicts if one["gate"] == "verified"}
    assert {outcome for name, outcome in verified.items() if "-insn-" in name} == {"PASS"}
    # SKIP: the host voided the runs of an arm on wall time
    assert set(verified.values()) <= {"PASS", "SKIP"}, session.output
    chosen = [one["outcome"] for name, one in of.items() if f"-{decides}-" in name]
    others = [one for name, one in of.items() if f"-{decides}-" not in name]
    assert others
    assert "SKIP" not in chosen
    for one in others:
        assert one["outcome"] == "SKIP"
        assert facts["clocks"]["because"] in one["reason"]
        void = [row for row in session.rows if row["system"] == one["system"] and row["outcome"] == "void"]
        assert void if one["ratio"] is None else one["low"] <= one["ratio"] <= one["high"]
    expected = 1 if "FAIL" in chosen else 75 if "INCONCLUSIVE" in chosen else 0
    assert session.code == expected, session.output
    if decides == "insn":
        assert (chosen, session.code) == (["PASS"], 0)

    for file in session.folder.glob("runs/*-insn-smp2/run.json"):  # the digits of --clock insn depend on it
        run = json.loads(file.read_text())
        text = f"1 checksum.blocks-8192-kernel-smp2 {run['seed']}"
        assert run["nonce"] == hashlib.sha256(text.encode()).hexdigest()[:16]

    page = (session.folder / "summary.md").read_text()
    wall, insn = ("informs", "decides") if decides == "insn" else ("decides", "informs")
    assert f"| native ({wall}) | kernel, tcg ({wall}) | kernel, insn ({insn}) |" in page
    assert "Wall time was good for speedups to within " in page
    code, output = run_benchgate(where, "verify", session.folder)
    assert code == 0, output
    code, output = run_benchgate(where, "rejudge", session.folder)
    assert code == expected, output


def lock_holder_tests(session: Session) -> list[str]:
    return re.findall(r"::test_lock_holder\[\S+\] ([A-Z]+)", session.output)


@pytest.mark.alone
def test_a_session_holds_the_hosts_lock_on_wall_time_only(dropped_ipis: Session, crowded: Session) -> None:
    """A test inside each session looks: one is on the instruction clock, the other on wall time."""
    assert lock_holder_tests(dropped_ipis) == ["PASSED"] * 2, dropped_ipis.output
    assert lock_holder_tests(crowded) == ["PASSED"] * 2, crowded.output


@pytest.mark.parametrize(("cpus", "clock"), [("2", ("--clock=insn",)), ("1", TCG)], ids=["insn", "wall"])
def test_a_users_own_test_boots_a_guest_and_talks_to_its_console(
    where: Path, cpus: str, clock: Sequence[str]
) -> None:
    """Boots one CPU in wall time: on a busy host QEMU can crash a Linux with more (docs/explanation/read-a-
    verdict.md)."""
    (where / "test_own.py").write_text(BOOTS.replace("CPUS", cpus))
    session = run_pytest(where, "-v", *clock)
    assert session.code == 0, session.output
    assert "test_boots[primes.hi-10000-linux] PASSED" in session.output


@pytest.mark.alone
def test_a_run_with_another_busy_task_never_counts(where: Path) -> None:
    """INVALID on a quiet host. On a loaded one the host's stalls may be the reason, so it is made again until
    the sweep ends without a decision."""
    write_test(where, CELLS, '"primes"')
    busy = linux_with(where, "busy", "bench.busy=1")
    session = run_pytest(where, f"--system={busy}", "--smp=1", "--runs=1", *TCG)
    outcomes, output = {row["outcome"] for row in session.rows}, " ".join(session.output.split())
    assert outcomes <= {"warmup", "void", "invalid"}
    if "invalid" not in outcomes:
        assert session.code == 75, session.output
        assert "INCONCLUSIVE: primes-busy-smp1: 4 of 4 runs" in " ".join(session.output.split())
        return
    assert session.code == 1, session.output
    assert {row["work"] for row in session.rows if row["outcome"] == "invalid"} == {""}
    assert "INVALID: primes-busy-smp1: " in session.output
    assert "the guest was not quiet: tasks other than the workers used" in output


@pytest.mark.long
def test_a_busy_task_beside_a_workload_that_makes_calls_is_seen(where: Path) -> None:
    """Its foreign time is counted by control groups, not by the run queues."""
    write_test(where, CELLS, '"wake", rounds=400')
    busy = linux_with(where, "busy", "bench.busy=1")
    systems = ("--system=linux", f"--system={busy}")
    session = run_pytest(where, *systems, "--smp=2", "--runs=1", "--clock=insn")
    assert session.code == 1, session.output
    quiet = {(row["system"], row["outcome"]) for row in session.rows}
    assert {("linux", "ok"), ("busy", "invalid")} <= quiet
    assert "INVALID: wake.rounds-400-busy-smp2: " in session.output
    assert "the guest was not quiet: tasks other than the workers used" in " ".join(session.output.split())


SPEEDUP = """\
import pytest


@pytest.mark.workload("primes", split="one", wait="spin")
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_scales(verdict):
    verdict.require_pass()
"""


@pytest.mark.parametrize("system", [pytest.param("linux", marks=pytest.mark.long), "kernel"])
def test_a_coordinator_that_takes_its_workers_cpu_is_foreign(where: Path, system: str) -> None:
    """One worker has all of the work, so nothing can scale. With one CPU the spinning coordinator halves the
    worker's speed; with two it does not, and the ratio of the two is 1.95."""
    (where / "test_line.py").write_text(SPEEDUP)
    session = run_pytest(where, f"--system={system}", "--clock=insn", "--quick", "--runs=5")
    assert session.code == 1, session.output
    assert {row["outcome"] for row in session.rows} == {"invalid"}
    assert "the guest was not quiet: tasks other than the workers used" in session.output


def test_a_kernel_that_allows_pid_1_no_port_is_told_which_option_it_lacks(where: Path) -> None:
    """A locked-down kernel refuses ioperm() as one without CONFIG_X86_IOPL_IOPERM does."""
    locked = linux_with(where, "locked", "lockdown=integrity")
    test = write_test(where, CELLS, SMALL)
    session = run_pytest(where, test, "--clock=insn", "--smp=1", "--seeds=1", f"--system={locked}")
    assert session.code == 1
    said = " ".join(session.output.split())
    assert "the process exited with status 0 after its end line; so it is if the kernel is built" in said
    assert "without CONFIG_X86_IOPL_IOPERM, or locked down" in said


def test_a_run_with_fewer_cpus_than_requested_is_invalid(where: Path) -> None:
    write_test(where, CELLS, SMALL)
    short = linux_with(where, "short", "maxcpus=1")
    session = run_pytest(where, f"--system={short}", "--smp=2", "--runs=1", *TCG)
    assert session.code == 1, session.output
    assert {row["verified"] for row in session.rows} == {"false"}
    assert "INVALID: primes.hi-200000-short-smp2: " in session.output
    assert "1 came up" in session.output


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Linux in a guest and natively, four workers on one host CPU, on wall time, with attribution."""
    where = tmp_path_factory.mktemp("crowded")
    test = LOCK_HOLDER.format(
        systems='"linux", "native"', workload=f'"tasks", steps={CROWDED_STEPS}', holds=True
    )
    (where / "test_line.py").write_text(f"import pytest\n{test}")
    one = f"--cpus={min(os.sched_getaffinity(0))}"
    words = ("--oversubscribe", "--smp=4", "--runs=1", "--measure", "-v")
    return run_on_wall_time(where, one, *words)


@pytest.mark.alone
def test_cells_with_more_vcpus_than_pins_are_measured_as_oversubscribed(crowded: Session) -> None:
    """tests/plugin/test_usage.py checks that a gate over such an arm is SKIP."""
    assert crowded.code == 0, crowded.output
    assert [crowded.outcomes(4, system) for system in ("linux", "native")] == [["ok"], ["ok"]]
    assert {row["placement"] for row in crowded.rows} == {"oversubscribed"}


@pytest.mark.alone
def test_native_and_guest_linux_are_shown_side_by_side(crowded: Session) -> None:
    assert {row["system"]: row["lane"] for row in crowded.rows} == {"linux": "tcg", "native": "native"}
    assert "Side by side" in crowded.output
    assert "## Side by side" in (crowded.folder / "summary.md").read_text()


@pytest.mark.alone
def test_a_linux_guest_reports_attribution(crowded: Session) -> None:
    """The table is that of tern; a bucket that Linux does not count is None."""
    raw = load(sorted((crowded.folder / "runs").glob("*-linux-smp4"))[-1])
    transcript = wire.parse(read_console(raw), nonce=raw.nonce)
    table = attribution.table(raw.cell.id, transcript)
    whole = transcript.total_end - transcript.total_start
    for cpu in range(4):
        busy = table.by_cpu["busy_time"][cpu]
        assert busy is not None
        assert 0 < busy < 2 * whole + 10**9  # the snapshots lie around the window, not in it
    # Each step ends with a yield, so the scheduler is called at least once per step.
    assert (table.value("picks") or 0) >= CROWDED_STEPS
    assert (table.value("switches") or 0) > 0
    assert (table.value("ticks") or 0) > 0
    # The foreign line adds what the coordinator used while it waited. `tasks` makes system calls, and what
    # ksoftirqd and RCU do for them is its own, so nothing else may be left.
    foreign = table.value("foreign_time")
    assert foreign is not None
    assert 0 <= foreign < (transcript.foreign or 0)
    absent = ("idle_time", "pick_time", "migrations", "syscalls", "network_polls", "serial_bytes")
    assert [table.value(name) for name in absent] == [None] * len(absent)
    assert [table.value("busy_time", phase) for phase in attribution.PHASES[:3]] == [None] * 3


@pytest.mark.alone
def test_a_native_session_boots_no_guest(where: Path) -> None:
    write_test(where, CELLS, SMALL)
    session = run_pytest(where, "--system=native", "--clock=wall", "--smp=1,2", "--runs=1")
    assert session.code == 0, session.output
    assert [session.outcomes(cpus, "native") for cpus in (1, 2)] == [["ok"]] * 2
    assert {row["lane"] for row in session.rows} == {"native"}
    commands = [json.loads(path.read_text()) for path in (session.folder / "runs").glob("*/argv.json")]
    assert len(commands) == len(session.rows)
    assert not [argv for argv in commands if "-kernel" in argv]


def test_a_boot_of_linux_on_the_instruction_clock_is_short(where: Path) -> None:
    """Counts, not seconds: what the guest executes, almost all of it before PID 1 (the window is 1%)."""
    (where / "test_short.py").write_text(SHORT)
    session = run_pytest(where, "test_short.py", "--clock=insn", "--smp=1", "--runs=1")
    logs = [read_log(path) for path in sorted(session.folder.glob("runs/*/clock.log"))]
    assert logs, session.output
    for log in logs:
        assert sum(total.executed for total in log.totals) < BOOT_INSTRUCTIONS
        assert log.checks["tsc_traps"] < BOOT_TRAPS
