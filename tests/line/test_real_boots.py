"""Whole sessions with real guests under TCG: what a user gets, and what must be refused.

No test here is skipped and none expects a good wall time. The tests assert that the session ran, that every
run verified, and that each verdict follows from the figures.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
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
    light_tern,
    linux_with,
    run_benchgate,
    run_on_wall_time,
    run_pytest,
    write_test,
)

SMALL = '"primes", hi=200_000'
CROWDED_STEPS = 5_000
BOOTS = """\
import pexpect
import pytest


@pytest.mark.system("linux")
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
"""490 million and 9,900 are usual. A kernel that unpacks itself needs 720 million more. A trapped read of the
TSC costs the host as much as thousands of instructions; there were 30,000."""
CELL = """

@pytest.mark.system({system!r})
@pytest.mark.workload({workload})
def test_{name}(cell):
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
    systems = (f"--system={light_tern(where)}", "--system=native")
    session = run_on_wall_time(where, *systems, "--clock=both", "--smp=1,2")
    facts = json.loads((session.folder / "session.json").read_text())
    decides = facts["clocks"]["decides"]
    of = {verdict["id"]: verdict for verdict in session.verdicts if verdict["gate"] == "speedup"}
    rows = ("kernel-wall", "kernel-insn", "native-wall")
    assert list(of) == [f"checksum.blocks-8192-{row}-smp2" for row in rows]
    wall, *rest = [value["lane"] for value in of.values()]
    assert (wall in ("tcg", None), rest) == (True, ["insn", "native"])  # None: the host voided its runs
    verified = {
        verdict["id"]: verdict["outcome"] for verdict in session.verdicts if verdict["gate"] == "verified"
    }
    assert {outcome for name, outcome in verified.items() if "-insn-" in name} == {"PASS"}
    # SKIP: the host voided the runs of an arm on wall time
    assert set(verified.values()) <= {"PASS", "SKIP"}, session.output
    chosen = [value["outcome"] for name, value in of.items() if f"-{decides}-" in name]
    others = [value for name, value in of.items() if f"-{decides}-" not in name]
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
    named = light_tern(where) if system == "kernel" else system
    session = run_pytest(where, f"--system={named}", "--clock=insn", "--quick", "--runs=5")
    assert session.code == 1, session.output
    assert {row["outcome"] for row in session.rows} == {"invalid"}
    assert "the guest was not quiet: tasks other than the workers used" in session.output


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Linux in a guest and natively, four workers on one host CPU, on wall time, with attribution."""
    where = tmp_path_factory.mktemp("crowded")
    test = LOCK_HOLDER.format(
        systems='"linux", "native"', workload=f'"tasks", steps={CROWDED_STEPS}', holds=True
    )
    (where / "test_line.py").write_text(f"import pytest\n{test}")
    text = f"--cpus={min(os.sched_getaffinity(0))}"
    words = ("--oversubscribe", "--smp=4", "--runs=1", "--measure", "-v")
    return run_on_wall_time(where, text, *words)


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


# ---- Linux with other words on its command line


WARM = ":start=warm"


def write_guests(where: Path, cpus: int, guests: Mapping[str, str], start: str = "") -> Path:
    """A user's own test with that many CPUs, which begins at `start`, and a row for each of these guests,
    with its words. A name may have a setting."""
    cells = []
    for key, words in guests.items():
        name, colon, setting = key.partition(":")
        system = f"{linux_with(where, name, words).name}{colon}{setting}"
        cells.append(CELL.format(system=system, workload=SMALL, name=name))
    path = where / "test_line.py"
    boots = BOOTS.replace("CPUS", str(cpus)).replace('"linux"', f'"linux{start}"')
    path.write_text(boots + "".join(cells))
    return path


@pytest.fixture(scope="module")
def on_insn(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One session of five boots on the instruction clock. Only the kernel that is locked down must start
    cold: its PID 1 may not read the words that come after a snapshot."""
    where = tmp_path_factory.mktemp("guests")
    write_guests(where, 2, {f"busy{WARM}": "bench.busy=1", "locked": "lockdown=integrity"}, WARM)
    return run_pytest(where, "-v", "--clock=insn", "--smp=1", "--runs=1")


@pytest.fixture(scope="module")
def on_wall(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One session of two boots in wall time. The own test has one CPU: on a busy host QEMU can crash a Linux
    with more (docs/explanation/read-a-verdict.md)."""
    where = tmp_path_factory.mktemp("guests-on-wall")
    write_guests(where, 1, {"short": "maxcpus=1"})
    return run_on_wall_time(where, "-v", "--smp=2", "--runs=1")


@pytest.mark.parametrize(("clock", "row"), [("insn", "linux.start-warm"), ("wall", "linux")])
def test_a_users_own_test_boots_a_guest_and_talks_to_its_console(
    request: pytest.FixtureRequest, clock: str, row: str
) -> None:
    session: Session = request.getfixturevalue(f"on_{clock}")
    assert f"test_boots[primes.hi-10000-{row}] PASSED" in session.output


def invalid(session: Session, row: str) -> str:
    """Why all runs of this row are invalid."""
    assert session.code == 1, session.output
    (verdict,) = (one for one in session.verdicts if one["id"] == f"{row}-verified")
    assert verdict["outcome"] == "INVALID", session.output
    mine = [one for one in session.rows if one["system"] == verdict["system"]]
    assert {(one["outcome"], one["verified"], one["work"]) for one in mine} == {("invalid", "false", "")}
    output = " ".join(session.output.split())
    said = f"INVALID: {row}: "
    assert said in output
    return output.partition(said)[2].partition("INVALID: ")[0]


def test_a_run_with_another_busy_task_never_counts(on_insn: Session) -> None:
    said = invalid(on_insn, "primes.hi-200000-busy.start-warm-smp1")
    assert "the guest was not quiet: tasks other than the workers used" in said


def test_a_kernel_that_allows_pid_1_no_port_is_told_which_option_it_lacks(on_insn: Session) -> None:
    """A locked-down kernel refuses ioperm() as one without CONFIG_X86_IOPL_IOPERM does."""
    said = invalid(on_insn, "primes.hi-200000-locked-smp1")
    assert "the process exited with status 0 after its end line; so it is if the kernel is built" in said
    assert "without CONFIG_X86_IOPL_IOPERM, or locked down" in said


def test_a_boot_of_linux_on_the_instruction_clock_is_short(on_insn: Session) -> None:
    """Counts, not seconds: what the guest executes, most of it before PID 1 (the window is a tenth). That a
    kernel is locked down adds nothing."""
    logs = [read_log(path) for path in sorted(on_insn.folder.glob("runs/*-locked-smp1/clock.log"))]
    assert len(logs) == 2, on_insn.output
    for log in logs:
        assert sum(total.executed for total in log.totals) < BOOT_INSTRUCTIONS
        assert log.checks["tsc_traps"] < BOOT_TRAPS


def test_a_run_with_fewer_cpus_than_requested_is_invalid(on_wall: Session) -> None:
    assert "1 came up" in invalid(on_wall, "primes.hi-200000-short-smp2")
