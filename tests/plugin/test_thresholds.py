"""`benchgate verify --tests`: the thresholds of a real session against the marks of tests in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.paths import data_root
from tests.plugin.conftest import GATE, TEST_FILE, Rig

TWICE = """
@pytest.mark.workload("primes", hi=10_000)
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_scales_again(verdict):
    verdict.require_pass()
"""
GATE_ID = "primes.hi-10000-fake-smp2"


@pytest.fixture
def verified(rig: Rig, capsys: pytest.CaptureFixture[str]) -> Verified:
    assert rig.run("-k", "scales").ret == 0
    capsys.readouterr()
    return Verified(rig, capsys)


class Verified:
    def __init__(self, rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
        self.rig, self.capsys = rig, capsys

    def verify(self, *words: str, command: str = "verify") -> tuple[int, list[str]]:
        """The exit status, and the notes."""
        code = cli.main([command, str(self.rig.latest), *words])
        lines = self.capsys.readouterr().out.splitlines()
        return code, [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]

    def rewrite(self, text: str) -> None:
        (self.rig.pytester.path / "test_scaling.py").write_text(text)


def test_the_session_says_which_tests_have_a_gate(rig: Rig) -> None:
    rig.pytester.makepyfile(test_scaling=TEST_FILE + TWICE)
    assert rig.run("-k", "scales").ret == 0
    (sweep,) = json.loads((rig.latest / "session.json").read_text())["plan"]
    (gate,) = sweep["gates"]
    assert gate["tests"] == ["test_scaling.py::test_scales", "test_scaling.py::test_scales_again"]


def test_unchanged_thresholds_are_confirmed(verified: Verified) -> None:
    assert verified.verify("--tests", "test_scaling.py") == (
        0,
        ["the thresholds of 1 gate are those of the tests"],
    )
    code, notes = verified.verify()
    assert code == 0
    assert any("--tests PATH compares them" in note for note in notes)


def test_a_workload_may_be_named_by_its_path(verified: Verified) -> None:
    place = data_root() / "guest/workloads/primes"
    verified.rewrite(TEST_FILE.replace('workload("primes"', f'workload("{place}"'))
    assert verified.verify("--tests", "test_scaling.py") == (
        0,
        ["the thresholds of 1 gate are those of the tests"],
    )


def test_a_threshold_that_differs_has_a_status_of_its_own(verified: Verified) -> None:
    verified.rewrite(TEST_FILE.replace("at_least=1.6", "at_least=1.8, insn=1.9"))
    said = [
        f"{GATE_ID}: at_least is 1.6 in the session and 1.8 in {GATE.partition('[')[0]}",
        f"{GATE_ID}: insn is absent in the session and 1.9 in {GATE.partition('[')[0]}",
    ]
    assert verified.verify("--tests", ".") == (15, said)
    assert verified.verify("--tests", ".", command="rejudge") == (0, said)


def test_a_test_that_is_not_here_is_named(verified: Verified) -> None:
    verified.rewrite("def test_other():\n    pass\n")
    assert verified.verify("--tests", "test_scaling.py") == (
        15,
        [
            f"{GATE_ID}: {GATE.partition('[')[0]} is not among the tests that you named, "
            "so nothing was compared"
        ],
    )


def test_tests_that_are_deselected_by_their_own_configuration_are_compared(verified: Verified) -> None:
    (verified.rig.pytester.path / "pytest.ini").write_text("[pytest]\naddopts = -m 'not smp'\n")
    assert verified.verify("--tests", "test_scaling.py")[0] == 0


def test_tests_that_cannot_be_collected_are_a_usage_error(verified: Verified) -> None:
    verified.rewrite("raise RuntimeError('broken')\n")
    assert cli.main(["verify", str(verified.rig.latest), "--tests", "test_scaling.py"]) == 4
    assert "pytest cannot collect test_scaling.py (status 2)" in (said := verified.capsys.readouterr().err)
    assert "RuntimeError: broken" in said


def test_no_test_is_imported_that_was_not_named(verified: Verified, tmp_path: Path) -> None:
    trace = tmp_path / "imported"
    verified.rewrite(f"open({str(trace)!r}, 'w').close()\n{TEST_FILE}")
    assert verified.verify()[0] == 0
    assert not trace.exists()
    assert verified.verify("--tests", "test_scaling.py")[0] == 0
    assert trace.exists()
