"""Smokes: their YAML keys, and that a run is refused if its smoke did not pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base import systems
from benchgate.base.cells import Cell, Lane, Mode
from benchgate.base.errors import CatalogError, VerifyError
from benchgate.base.runs import Deadlines, Ending, RawRun
from benchgate.base.systems import System
from benchgate.judge import smoke_check
from benchgate.plan import systemfile
from benchgate.run import smoke
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


def test_the_smoke_of_a_system_file() -> None:
    found = own(sched="lottery").smoke
    assert found == systems.Smoke("sched=lottery selftest", "^checks: all good")
    assert own(YAML[: YAML.index("smoke:")]).smoke is None


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"^checks: all good"', '"("', "smoke.pass: is not a regular expression"),
        ('"^checks: all good"', '"x*"', "smoke.pass: matches the empty string"),
        ('  pass: "^checks: all good"\n', "", "smoke.pass: is missing"),
        ("append: sched={sched} selftest", "apend: selftest", r"smoke.apend: unknown key; did you mean `app"),
    ],
)
def test_an_invalid_smoke_is_refused(old: str, new: str, problem: str) -> None:
    with pytest.raises(CatalogError, match=problem):
        own(YAML.replace(old, new))


def session_with_smoke(session: Path, text: bytes = GOOD, **changes: object) -> RawRun:
    """Makes a session folder with a smoke boot at smp2; gives a run at smp2 that needs it."""
    cell = Cell("own", "primes", Mode.PROCESS, (), 2)
    folder = smoke_folder(session, "own", 2)
    folder.mkdir(parents=True)
    (folder / "serial.log").write_bytes(text)
    boot = replace(raw_run(replace(cell, workload="smoke", label="smoke")), folder=folder)
    save(replace(boot, **changes))  # type: ignore[arg-type]
    return raw_run(cell)


@pytest.mark.parametrize(("boot_s", "run_s", "gets"), [(20, 120, 20), (60, 360, 60), (20, 5, 5)])
def test_a_smoke_gets_no_longer_than_a_boot(boot_s: float, run_s: float, gets: float) -> None:
    """On every lane, since both deadlines have the lane's factor."""
    assert smoke.deadlines(Deadlines(boot_s, run_s)) == Deadlines(boot_s, gets)


def test_smokes_that_passed(tmp_path: Path) -> None:
    smoke_check.require_smokes(tmp_path, own(), session_with_smoke(tmp_path))


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
