"""A system's smokes, through pytest: they pass before a figure, or the arm is INVALID and says why."""

from __future__ import annotations

import json
import shutil

from benchgate.session import rejudge
from tests.plugin.conftest import Rig

SMOKE = """\
smoke:
  append: fake.play=good fake.console={console}
  pass: "^checks: all good"
"""


def give_smoke(rig: Rig, said: str) -> None:
    console = rig.folder / "smoke.log"
    console.write_text(f"benchready pid=1\n{said}\n")
    rig.more = SMOKE.format(console=console)


def test_figures_follow_smokes_that_pass(rig: Rig) -> None:
    give_smoke(rig, "checks: all good")
    rig.run().assert_outcomes(passed=3)
    kept = sorted(path.name for path in (rig.latest / "smokes").iterdir())
    assert kept == ["fake-smp1", "fake-smp2"]
    assert outcomes(rig) == ["PASS"]


def test_smokes_that_fail_make_the_arms_invalid(rig: Rig) -> None:
    give_smoke(rig, "check: park FAILED line=7")
    result = rig.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the smokes of fake at smp? did not pass: nothing matched*"])
    assert outcomes(rig) == ["INVALID"]
    assert rejudge.show(rig.latest.resolve())[1] == 1


def test_smokes_taken_out_afterwards_are_missed(rig: Rig) -> None:
    give_smoke(rig, "checks: all good")
    rig.run()
    assert rejudge.show(rig.latest.resolve())[1] == 0
    shutil.rmtree(rig.latest / "smokes" / "fake-smp2")
    assert rejudge.show(rig.latest.resolve())[1] == 1


def outcomes(rig: Rig) -> list[str]:
    return [one["outcome"] for one in json.loads((rig.latest / "verdicts.json").read_text())]
