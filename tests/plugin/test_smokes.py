"""Smoke boots, through pytest: an arm is measured after its smoke boot passed, otherwise it is INVALID."""

from __future__ import annotations

import json
import shutil

from benchgate.session.rejudging import rejudge
from tests.plugin.conftest import Rig

SMOKE = """\
smoke:
  append: fake.play=good fake.console={console}
  pass: "^checks: all good"
"""


def give_smoke(rig: Rig, line: str) -> None:
    console = rig.folder / "smoke.log"
    console.write_text(f"benchready pid=1\n{line}\n")
    rig.more = SMOKE.format(console=console)


def test_smokes_that_pass_are_kept_and_the_gate_is_decided(rig: Rig) -> None:
    give_smoke(rig, "checks: all good")
    rig.run().assert_outcomes(passed=3)
    kept = sorted(path.name for path in (rig.latest / "smokes").iterdir())
    assert kept == ["fake-smp1", "fake-smp2"]
    assert outcomes(rig) == ["PASS"] * 3


def test_a_smoke_that_fails_makes_the_gate_invalid(rig: Rig) -> None:
    give_smoke(rig, "check: park FAILED line=7")
    result = rig.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the smokes of fake at smp? did not pass: nothing matched*"])
    assert outcomes(rig) == ["INVALID"] * 3
    assert rejudge.show(rig.latest.resolve())[1] == 1


def test_rejudge_fails_if_a_smoke_was_removed(rig: Rig) -> None:
    give_smoke(rig, "checks: all good")
    rig.run()
    assert rejudge.show(rig.latest.resolve())[1] == 0
    shutil.rmtree(rig.latest / "smokes" / "fake-smp2")
    assert rejudge.show(rig.latest.resolve())[1] == 1


def outcomes(rig: Rig) -> list[str]:
    return [load["outcome"] for load in json.loads((rig.latest / "verdicts.json").read_text())]
