"""Self-tests that misreport: real boots of a small guest, judged as in a session."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.runs import Ending
from benchgate.base.system.systems import System
from benchgate.build.fetch import inputs
from benchgate.build.toolchain import compiler
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan import systemfile
from tests.kernelkit import BARE
from tests.machines import PATIENCE_S
from tests.ternkit import Bootkit

DATA = Path(__file__).parents[1] / "data"
LINES = """\
version: 1
name: selftest
kind: qemu
boot: {{kernel: "{kernel}", append: case={case}}}
ask: selftest
console: {{online: "^(?P<n>[0-9]+) CPUs up$"}}
result: {{format: bench-lines, operations: [step, pipe]}}
end: {{by: exit, exit_codes: [0, 33]}}
"""
YAML = """\
version: 1
name: selftest
kind: qemu
boot: {{kernel: "{kernel}", append: case={case}}}
ask: selftest
console: {{{ready}online: "^(?P<n>[0-9]+) CPUs up$"}}
result:
  format: patterns
  work: {{begins: "^work begins$", pattern: "^work: (?P<value>[0-9]+) ns$", unit: ns}}
  answers: ["^sum=(?P<sum>[0-9]+)$"]
  expect: {{sum: 10000000}}
end: {{by: exit, exit_codes: [0, 33]{reset}}}
deadlines: {{boot_s: 2, run_s: 0.2}}
"""
READY = 'ready: "^selftest up$", '


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("selftest") / "selftest.elf"
    start, source = DATA / "stress" / "start.S", DATA / "selftest" / "selftest.c"
    words = (f"-Wl,-T,{DATA / 'stress' / 'stress.ld'}", str(start), str(source))
    subprocess.run([*compiler().argv, *BARE, *words, "-o", str(made)], check=True, timeout=PATIENCE_S)
    return made


def system(guest: Path, case: str, ready: str = "", reset: str = "") -> System:
    path = guest.parent / f"{case}.yaml"
    path.write_text(YAML.format(kernel=guest, case=case, ready=ready, reset=reset))
    return systemfile.load(path)


@pytest.fixture
def timed(tmp_path: Path) -> Bootkit:
    return Bootkit(tmp_path, inputs.qemu(), insn=True)


def boot(timed: Bootkit, guest: Path, case: str, cpus: int, ready: str = "") -> JudgedRun:
    return timed.run(system(guest, case, ready), "selftest", cpus)


def lines(timed: Bootkit, guest: Path, case: str) -> JudgedRun:
    path = guest.parent / f"{case}.yaml"
    path.write_text(LINES.format(kernel=guest, case=case))
    return timed.run(systemfile.load(path), "selftest", 1)


@pytest.mark.parametrize("cpus", [1, 2, 4])
@pytest.mark.parametrize("ready", ["", READY])
def test_an_honest_selftest_is_verified(timed: Bootkit, guest: Path, cpus: int, ready: str) -> None:
    """Two instructions for each of 10,000,000 steps."""
    judged = boot(timed, guest, "honest", cpus, ready)
    assert judged.verified is not None, judged.reason
    assert judged.verified.work == pytest.approx(20_000_000 / cpus, rel=0.01)


def test_a_selftest_may_print_all_but_one_line_at_its_end(timed: Bootkit, guest: Path) -> None:
    judged = boot(timed, guest, "summary", 2)
    assert judged.verified is not None, judged.reason


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("absent", "vCPU 1 executed only "),
        ("spins", "vCPU 1 executed only "),
        ("pauses", "vCPU 1 executed only "),
        (
            "early",
            r"work: the guest claims 10000000 ns, but on the instruction clock \d{1,5} ns passed from ",
        ),
        (
            "long",
            r"work: the guest claims 150\d{5} ns, but on the instruction clock 100\d{5} ns passed from ",
        ),
        ("divides", r"work: the guest claims 100\d{5} ns, but on the instruction clock 200\d{5} ns passed"),
    ],
)
def test_a_selftest_that_misreports_is_refused(timed: Bootkit, guest: Path, case: str, said: str) -> None:
    judged = boot(timed, guest, case, 2)
    assert judged.verified is None
    assert re.search(said, judged.reason), judged.reason


def test_bench_lines_are_verified_and_a_skipped_operation_has_no_metric(timed: Bootkit, guest: Path) -> None:
    judged = lines(timed, guest, "lines")
    assert judged.verified is not None, judged.reason
    assert judged.verified.metrics["step"] == pytest.approx(2.0, rel=0.01)  # two instructions
    assert "pipe" not in judged.verified.metrics


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("lines-long", r"step: the guest claims 40\d{5} ns, but on the instruction clock 20\d{5} ns passed"),
        (
            "lines-short",
            r"step: the guest claims 100\d{3} ns, but on the instruction clock 20\d{5} ns passed",
        ),
        ("lines-open", "the program printed no BENCH_END at its end"),
    ],
)
def test_bench_lines_that_misreport_are_refused(timed: Bootkit, guest: Path, case: str, said: str) -> None:
    judged = lines(timed, guest, case)
    assert judged.verified is None
    assert re.search(said, judged.reason), judged.reason


@pytest.mark.parametrize("insn", [True, False])
def test_a_triple_fault_after_the_result_is_a_failure_unless_the_yaml_allows_it(
    timed: Bootkit, guest: Path, insn: bool
) -> None:
    kit = replace(timed, insn=insn)
    judged = kit.run(system(guest, "reset"), "selftest", 2)
    assert "guest-reset" in judged.reason
    assert judged.run.exit_status == 0
    allowed = kit.run(system(guest, "reset", reset=", reset: allowed"), "selftest", 2)
    assert allowed.verified is not None, allowed.reason


def test_a_power_off_is_named_by_its_exit_code(timed: Bootkit, guest: Path) -> None:
    judged = boot(timed, guest, "power-off", 2)
    assert judged.verified is not None, judged.reason
    assert judged.run.exit_status == 0


@pytest.mark.parametrize(
    ("case", "machine", "said"),
    [
        ("loops", "q35", "not finished within its deadline (0.2 s of guest time)"),
        ("halts", "q35", "not finished within its deadline (0.2 s of guest time)"),  # the RTC's timer goes on
        ("halts", "microvm,rtc=off,pit=off", "its deadline (0.2 s, in which all its CPUs were halted)"),
    ],
)
def test_a_hang_ends_by_the_guests_time_or_if_it_does_nothing(
    timed: Bootkit, guest: Path, case: str, machine: str, said: str
) -> None:
    known = system(guest, case, READY)
    known = replace(known, qemu=replace(known.qemu, machine=machine))
    judged = timed.run(known, "selftest", 2)
    assert judged.run.ending is Ending.RUN_DEADLINE
    assert said in judged.run.detail
