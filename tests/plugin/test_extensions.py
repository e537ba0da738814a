"""A user's own workload, system, policy, gate and report: one folder and four files outside the package.

One session uses all five. `benchgate verify` and `rejudge` run the programs among them only if the command
line names them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchgate import cli
from tests.plugin.conftest import Rig, console

WORKLOAD = """\
name: mine
mode: process
source: mine.c
oracle: oracle.py
params:
  hi: {default: 10_000, minimum: 10, maximum: 100_000}
  split: {default: cost, choices: [cost]}
  wait: {default: join, choices: [join]}
"""

ORACLE = """\
from benchgate import expect, ranges, whole

PRIMES_BELOW_10_001 = 1229  # a table's value, e.g. OEIS A006880

def check(params, reports, result):
    ranges(reports, 2, whole(params, "hi") + 1)
    expect("the sum of the workers' counts", {"count": sum(one.values["count"] for one in reports)},
           {"count": PRIMES_BELOW_10_001})
"""

POLICY = """\
name: patient
looks: [7, 13]
alpha: 0.02
overall_error: 0.05
first: 7
max_runs: 7
superlinear: 1.05
capacity_reach: 0.9
warmups: 2
"""

GATE = """\
from benchgate import Ruling, Word, verdict

KIND = "steady"

def judge(gate, measured):
    samples = measured.arms[gate.cell.id].work.samples
    spread = max(samples) / min(samples)
    word = Word.PASS if spread <= gate.at_most else Word.FAIL
    facts = {"threshold": gate.at_most, "runs": len(samples), "lane": measured.arms[gate.cell.id].lane}
    return Ruling(verdict(gate, word, f"{word}: {gate.cell.id}: the slowest run took {spread:.3f}x", facts))
"""

REPORT = """\
NAME = "words.txt"

def render(view):
    return "".join(f"{one.id} {one.gate} {one.outcome}\\n" for one in view.verdicts)
"""

TESTS = """\
import pytest

pytestmark = [pytest.mark.smp, pytest.mark.workload("{folder}/mine")]

def test_every_run_is_right(cell):
    cell.require_verified()

@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_scales(verdict):
    verdict.require_pass()

@pytest.mark.gate("{folder}/steady.py", cpus=2, at_most=1.1)
def test_is_steady(verdict):
    verdict.require_pass()
"""


@dataclass(frozen=True)
class Own:
    """A session with all five, and the options that name its programs to `verify` and `rejudge`."""

    rig: Rig
    folder: Path

    def run(self) -> pytest.RunResult:
        more = (f"--policy={self.folder}/patient.yaml", f"--extra-report={self.folder}/words.py")
        return self.rig.run(*more)

    @property
    def programs(self) -> dict[str, str]:
        """Option -> file."""
        names = {"--workload": "mine", "--gate": "steady.py", "--extra-report": "words.py"}
        return {option: str(self.folder / name) for option, name in names.items()}

    def outcomes(self) -> dict[str, str]:
        found = json.loads((self.rig.latest / "verdicts.json").read_text())
        return {one["gate"]: one["outcome"] for one in found if one["gate"] != "verified"}


@pytest.fixture
def own(rig: Rig, tmp_path: Path) -> Own:
    folder = tmp_path / "own"
    (folder / "mine").mkdir(parents=True)
    for name, text in (
        ("mine/workload.yaml", WORKLOAD),
        ("mine/mine.c", ""),
        ("mine/oracle.py", ORACLE),
        ("patient.yaml", POLICY),
        ("steady.py", GATE),
        ("words.py", REPORT),
    ):
        (folder / name).write_text(text)
    rig.pytester.makepyfile(test_scaling=TESTS.format(folder=folder))
    for cpus, work in enumerate((19_000_000, 10_000_000), 1):
        text = console(cpus, work).replace("workload=primes", "workload=mine")
        (rig.folder / f"smp{cpus}.log").write_text(text)
    return Own(rig, folder)


def test_a_session_uses_all_five(own: Own) -> None:
    result = own.run()
    result.assert_outcomes(passed=4)
    assert own.outcomes() == {"speedup": "PASS", "steady": "PASS"}
    assert (
        (own.rig.latest / "words.txt")
        .read_text()
        .startswith("mine-fake-smp2 speedup PASS\nmine-fake-smp2-steady steady PASS\n")
    )
    outcomes = [line.split(",")[11] for line in (own.rig.latest / "results.csv").read_text().splitlines()[1:]]
    assert (outcomes.count("warmup"), outcomes.count("ok")) == (2 * 2, 2 * 7)  # as the policy says


def test_an_answer_that_the_users_oracle_refuses_makes_every_gate_invalid(own: Own) -> None:
    oracle = own.folder / "mine" / "oracle.py"
    oracle.write_text(ORACLE.replace("1229 ", "1230 "))
    assert own.run().ret == 1
    assert own.outcomes() == {"speedup": "INVALID", "steady": "INVALID"}


def test_the_users_gate_decides(own: Own) -> None:
    (own.folder / "steady.py").write_text(GATE.replace("<= gate.at_most", "> gate.at_most"))
    assert own.run().ret == 1
    assert own.outcomes() == {"speedup": "PASS", "steady": "FAIL"}


def test_verify_with_the_programs_named_finds_the_session_intact(own: Own) -> None:
    own.run()
    named = [word for pair in own.programs.items() for word in pair]
    assert cli.main(["verify", str(own.rig.latest), *named]) == 0
    (own.rig.latest / "words.txt").write_text("mine-fake-smp2 speedup FAIL\n")
    assert cli.main(["verify", str(own.rig.latest), *named]) != 0


@pytest.mark.parametrize("left_out", ["--workload", "--gate"])
def test_rejudge_does_not_run_a_program_that_is_not_named(
    own: Own, left_out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own.run()
    named = [word for pair in own.programs.items() for word in pair if left_out not in pair]
    capsys.readouterr()
    assert cli.main(["rejudge", str(own.rig.latest), *named]) == 4
    assert (
        f"if you trust it, name its {'YAML ' if left_out == '--workload' else ''}file with {left_out}"
        in capsys.readouterr().err
    )
