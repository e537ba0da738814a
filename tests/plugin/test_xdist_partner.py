"""Timed tests under pytest-xdist: one worker measures, and the controller reports, with every --dist."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchgate.evidence.check import verify_session
from benchgate.session.pytest_hooks import xdist_partner
from benchgate.session.rejudging import rejudge
from tests.plugin.conftest import TEST_FILE, Rig

OTHERS = """
import pytest

@pytest.mark.parametrize("number", range(6))
def test_plain(number):
    assert number < 6
"""


@pytest.fixture
def workers(rig: Rig) -> Rig:
    """Also other tests."""
    rig.pytester.makepyfile(test_plain=OTHERS, test_scaling=TEST_FILE)
    return rig


@pytest.mark.parametrize("dist", ["load", "loadgroup", "loadscope", "loadfile", "worksteal"])
def test_one_worker_measures_and_the_controller_reports(workers: Rig, dist: str) -> None:
    result = workers.run("-n", "2", "--dist", dist)
    result.assert_outcomes(passed=9)
    assert result.ret == 0
    assert len(list((workers.folder / "reports/runs").iterdir())) == 1
    result.stdout.fnmatch_lines(["PASS: 3 of 3 verdicts", "report: *summary.md"])
    assert result.stdout.str().count("report: ") == 1
    assert result.stderr.str().count("the timed tests run one after the other in one worker") == 1
    facts = json.loads((workers.latest / "session.json").read_text())
    assert any("other tests may run beside them" in fact for fact in facts["notes"])
    check = verify_session(workers.latest, rejudge.recompute)
    assert check.exit_code == 0, check.text


def test_a_fail_in_a_worker_is_the_status_of_the_run(workers: Rig) -> None:
    workers.consoles((19_000_000, 13_000_000))
    result = workers.run("-n", "2")
    result.assert_outcomes(passed=8, failed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAIL: 1 of 3 verdicts*", "report: *summary.md"])


def test_a_session_that_decides_nothing_exits_with_5_here_too(workers: Rig) -> None:
    assert workers.run("-n", "2", "--runs=1").ret == 5


def test_tests_that_run_on_no_system_exit_with_5_and_their_reason(rig: Rig) -> None:
    rig.pytester.makepyfile(
        test_scaling='import pytest\n\n@pytest.mark.workload("selftest")\n'
        "@pytest.mark.speedup(cpus=2, at_least=1.6)\ndef test_scales(verdict):\n    verdict.require_pass()\n"
    )
    result = rig.run("-n", "2")
    assert result.ret == 5
    assert result.outlines.count("SKIP: none of the systems has a self-test of its own: fake") == 1
    assert "gave no report" not in result.stdout.str()


def test_each_is_refused_with_what_to_type(workers: Rig) -> None:
    result = workers.run("-n", "2", "--dist", "each")
    assert result.ret == 4
    assert "write --dist load, or leave -n out" in result.stdout.str()
    assert not (workers.folder / "reports").exists()


def test_an_error_that_ends_measuring_ends_a_run_with_4(workers: Rig) -> None:
    (workers.folder / "kernel").unlink()
    result = workers.run("-n", "2")
    assert result.ret == 4
    assert "kernel does not exist" in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()


@pytest.mark.parametrize("dist", ["load", "loadscope"])
def test_a_worker_that_dies_does_not_keep_the_run_from_its_end(workers: Rig, dist: str) -> None:
    """The one that takes its place waited for ever with its last test: xdist 3.8 alone does so, too, with
    `--dist loadgroup`, but not with the one that the user named."""
    workers.pytester.makepyfile(test_z="import os\n\ndef test_dies():\n    os.abort()\n")
    result = workers.run("-n", "2", "--dist", dist)
    result.assert_outcomes(passed=9, failed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*worker 'gw?' crashed while running*", "PASS: 3 of 3 verdicts"])


def test_without_timed_tests_xdist_schedules_as_ever(workers: Rig) -> None:
    result = workers.run("-n", "2", "-v", "-k", "plain")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["scheduling tests via *"])
    assert "benchgate" not in result.stdout.str().partition("scheduling")[2].replace("benchgate-", "")


def test_a_plan_needs_no_workers(workers: Rig) -> None:
    result = workers.run("-n", "2", "--plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["sweep primes.hi-10000-fake"])


@pytest.mark.parametrize(("texts", "is_told"), [(["", "the report"], False), ([""], True)])
def test_a_worker_that_measured_and_hands_over_nothing_is_told_with_the_folder(
    tmp_path: Path, pytestconfig: pytest.Config, texts: list[str], is_told: bool
) -> None:
    """After Ctrl-C the others may still hand over; they have no report."""
    said: list[str] = []
    given = SimpleNamespace(options=SimpleNamespace(reports=tmp_path), take_over=lambda **_: None)
    controller = xdist_partner.XdistController(lambda: given)
    controller._scheduler = xdist_partner.GroupingScheduler(None, pytestconfig, None)
    controller._scheduler.is_grouping = True
    (tmp_path / "latest").mkdir()
    for text in texts:
        ended = {xdist_partner.ENDED: {"picked": True, "code": 0, "text": text}}
        controller.pytest_testnodedown(SimpleNamespace(workeroutput=ended))
    controller.pytest_terminal_summary(SimpleNamespace(write_line=said.append))
    controller.pytest_unconfigure()
    assert [f"--resume={tmp_path}/latest" in line for line in said] == [True] * is_told
