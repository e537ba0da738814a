"""A run is refused if the smoke of its system and CPU count did not pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Cell, Lane, Mode
from benchgate.base.errors import VerifyError
from benchgate.base.runs import Ending, RawRun
from benchgate.base.system.systems import System
from benchgate.judge.checks import smoke_check
from benchgate.plan import systemfile
from benchgate.run.record import save, smoke_folder
from tests.unit.factories import raw_run

YAML = """\
version: 1
name: own
kind: qemu
settings:
  sched: {default: fair, choices: [fair, lottery]}
boot: {kernel: own.elf, append: "sched={sched}"}
smoke:
  append: sched={sched} selftest
  pass: "^checks: all good"
"""
GOOD = b"own: up\r\nchecks: all good\r\n"


def own(text: str = YAML, **chosen: str) -> System:
    return systemfile.parse(text, Path("own.yaml"), chosen)


def session_with_smoke(session: Path, text: bytes = GOOD, **changes: object) -> RawRun:
    """Makes a session folder with a smoke boot at smp2; gives a run at smp2 that needs it."""
    cell = Cell("own", "primes", Mode.PROCESS, (), 2)
    folder = smoke_folder(session, "own", 2)
    folder.mkdir(parents=True)
    (folder / "serial.log").write_bytes(text)
    boot = replace(raw_run(replace(cell, workload="smoke", label="smoke")), folder=folder)
    save(replace(boot, **changes))  # type: ignore[arg-type]
    return raw_run(cell)


def test_smokes_that_passed(tmp_path: Path) -> None:
    smoke_check.require_smokes(tmp_path, own(), session_with_smoke(tmp_path))


def test_each_clock_has_smokes_of_its_own(tmp_path: Path) -> None:
    run = session_with_smoke(tmp_path)
    clocked = replace(run, cell=replace(run.cell, clock="insn"))
    with pytest.raises(VerifyError, match="the smokes of own at smp2 were not run"):
        smoke_check.require_smokes(tmp_path, own(), clocked)
    smoke_folder(tmp_path, "own", 2).rename(smoke_folder(tmp_path, "own", 2, "insn"))
    smoke_check.require_smokes(tmp_path, own(), clocked)


def test_a_system_without_smokes_needs_none(tmp_path: Path) -> None:
    smoke_check.require_smokes(
        tmp_path, replace(own(), smoke=None), raw_run(Cell("own", "primes", Mode.PROCESS, (), 2))
    )


@pytest.mark.parametrize(
    ("text", "changes", "problem"),
    [
        (b"own: up\n", {}, "did not pass: nothing matched `\\^checks: all good`"),
        (b"said checks: all good\n", {}, "nothing matched"),
        (GOOD, {"exit_status": 35}, "exit status 35 does not mean success"),
        (
            b"check: ring ok\ncheck: park FAILED line=7\nchecks: all good\n",
            {"ending": Ending.FAILED, "detail": "exited with status 35"},
            "ended with failed: exited with status 35; it printed `check: park FAILED line=7`",
        ),
        (b"panic: cpu=1 why=x\n", {"ending": Ending.PANIC}, "it printed `panic: cpu=1 why=x`"),
        (
            b"panic: cpu=1 why=x\n",
            {"ending": Ending.PANIC, "detail": "the guest panicked: panic: cpu=1 why=x"},
            r"panicked: panic: cpu=1 why=x \(smokes/own-smp2/serial.log\)$",
        ),
        (GOOD, {"ending": Ending.INTERRUPTED}, "ended with interrupted"),
        (GOOD, {"lane": Lane.INSN}, "are of another system, CPU count or lane"),
        (GOOD, {"cell": Cell("other", "smoke", Mode.PROCESS, (), 2)}, "are of another system"),
    ],
)
def test_smokes_that_did_not_pass(
    tmp_path: Path, text: bytes, changes: dict[str, object], problem: str
) -> None:
    wanted = session_with_smoke(tmp_path, text, **changes)
    with pytest.raises(VerifyError, match=rf"the smokes of own at smp2 .*{problem}"):
        smoke_check.require_smokes(tmp_path, own(), wanted)


def test_smokes_at_another_cpu_count_do_not_count(tmp_path: Path) -> None:
    at_two = session_with_smoke(tmp_path)
    with pytest.raises(VerifyError, match="the smokes of own at smp4 were not run"):
        smoke_check.require_smokes(tmp_path, own(), replace(at_two, cell=replace(at_two.cell, cpus=4)))
