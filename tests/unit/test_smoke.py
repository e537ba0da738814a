"""Smokes: what a YAML may ask, and that a figure is refused where they did not pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import run, smoke, systemfile, systems
from benchgate.errors import CatalogError, VerifyError
from benchgate.model import Cell, Deadlines, Ending, Lane, Mode, RawRun
from benchgate.systems import System
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


def test_the_words_of_a_yaml() -> None:
    found = own(sched="lottery").smoke
    assert found == systems.Smoke("sched=lottery selftest", "^checks: all good")
    assert own(YAML[: YAML.index("smoke:")]).smoke is None


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"^checks: all good"', '"("', "smoke.pass: is not a regular expression"),
        ('"^checks: all good"', '"x*"', "smoke.pass: matches nothing at all"),
        ('  pass: "^checks: all good"\n', "", "smoke.pass: is missing"),
        ("append: sched={sched} selftest", "apend: selftest", r"smoke.apend: unknown key; did you mean `app"),
    ],
)
def test_what_a_yaml_cannot_mean(old: str, new: str, problem: str) -> None:
    with pytest.raises(CatalogError, match=problem):
        own(YAML.replace(old, new))


def kept(session: Path, text: bytes = GOOD, **changes: object) -> RawRun:
    """A session in which the smokes of smp2 were run; gives a run at smp2 that wants them."""
    cell = Cell("own", "primes", Mode.PROCESS, (), 2)
    folder = smoke.place(session, "own", 2)
    folder.mkdir(parents=True)
    (folder / "serial.log").write_bytes(text)
    boot = replace(raw_run(replace(cell, workload="smoke", label="smoke")), folder=folder)
    run.save(replace(boot, **changes))  # type: ignore[arg-type]
    return raw_run(cell)


@pytest.mark.parametrize(("boot_s", "run_s", "gets"), [(20, 120, 20), (60, 360, 60), (20, 5, 5)])
def test_a_smoke_gets_no_longer_than_a_boot(boot_s: float, run_s: float, gets: float) -> None:
    """Whatever the lane: its factor is in both."""
    assert smoke.deadlines(Deadlines(boot_s, run_s)) == Deadlines(boot_s, gets)


def test_smokes_that_passed(tmp_path: Path) -> None:
    smoke.require(tmp_path, own(), kept(tmp_path))


def test_a_system_without_smokes_needs_none(tmp_path: Path) -> None:
    smoke.require(tmp_path, replace(own(), smoke=None), raw_run(Cell("own", "primes", Mode.PROCESS, (), 2)))


@pytest.mark.parametrize(
    ("text", "changes", "problem"),
    [
        (b"own: up\n", {}, "did not pass: nothing matched `\\^checks: all good`"),
        (b"said checks: all good\n", {}, "nothing matched"),
        (GOOD, {"exit_status": 35}, "exit status 35 does not mean success"),
        (
            b"check: ring ok\ncheck: park FAILED line=7\nchecks: all good\n",
            {"ending": Ending.FAILED, "detail": "left with status 35"},
            "ended with failed: left with status 35; it said `check: park FAILED line=7`",
        ),
        (b"panic: cpu=1 why=x\n", {"ending": Ending.PANIC}, "it said `panic: cpu=1 why=x`"),
        (GOOD, {"ending": Ending.INTERRUPTED}, "ended with interrupted"),
        (GOOD, {"lane": Lane.INSN}, "are of another system, CPU count or lane"),
        (GOOD, {"cell": Cell("other", "smoke", Mode.PROCESS, (), 2)}, "are of another system"),
    ],
)
def test_smokes_that_did_not_pass(
    tmp_path: Path, text: bytes, changes: dict[str, object], problem: str
) -> None:
    wanted = kept(tmp_path, text, **changes)
    with pytest.raises(VerifyError, match=rf"the smokes of own at smp2 .*{problem}"):
        smoke.require(tmp_path, own(), wanted)


def test_smokes_of_another_count_are_not_these(tmp_path: Path) -> None:
    at_two = kept(tmp_path)
    with pytest.raises(VerifyError, match="the smokes of own at smp4 were not run"):
        smoke.require(tmp_path, own(), replace(at_two, cell=replace(at_two.cell, cpus=4)))
