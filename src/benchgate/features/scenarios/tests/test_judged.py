"""What the runs of a scenario get and lose when they are judged, by a record of threads told by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.runs import VerifiedRun
from benchgate.base.workload.metrics import OF_THREADS
from benchgate.features.scenarios import check
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog
from tests.unit.judge.accounts.threads.test_accounting import FILE
from tests.unit.judge.checks.test_thread_record import judged

CUT = FILE.replace("close 4000\nend 5000", "full 4000\nend 5000")


def run_of(folder: Path, threads: str | None, workload: str) -> VerifiedRun:
    run = judged(folder, threads, workload=workload)
    return check.with_scenario(run, RunFiles(run.run), catalog.load_workload(workload))


def test_with_a_quota_it_has_its_own_figures_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "scenario_metrics", lambda *_: {"used": 0.25})
    run = run_of(tmp_path, FILE, "scenario-quota")
    assert run.metrics["used"] == 0.25
    assert set(run.skipped) == set(OF_THREADS)
    assert "a quota has stopped look like threads that wait" in run.skipped["wasted"]
    assert not set(OF_THREADS) & set(run.metrics)
    assert not run.histograms
    assert not run.measured


def test_a_cpu_that_was_away_wasted_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "scenario_metrics", lambda *_: {"idle": 0.25})
    run = run_of(tmp_path, FILE, "scenario-unplug")
    assert (run.metrics["idle"], set(run.skipped)) == (0.25, {"wasted", "wasted_longest", "settling"})
    assert run.skipped["wasted"] == "a CPU that was taken away looks like an idle one"
    assert "wasted" not in run.metrics
    assert run.metrics["sched_wait_max"] == 1200
    assert set(run.histograms) == set(run.measured) == {"sched_wait"}


def test_any_other_has_the_figures_of_threads_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "scenario_metrics", lambda *_: {"idle": 0.25})
    run = run_of(tmp_path, FILE, "scenario-spread")
    assert {"idle", "wasted", "sched_wait_max"} <= set(run.metrics)
    assert run.skipped == {}


def test_without_a_record_it_has_no_figures(tmp_path: Path) -> None:
    assert {*OF_THREADS, "used"} == set(run_of(tmp_path, None, "scenario-quota").skipped)


def test_a_record_that_is_cut_shows_nothing(tmp_path: Path) -> None:
    assert {*OF_THREADS, "used"} == set(run_of(tmp_path, CUT, "scenario-quota").absent)


def test_its_runs_are_asked_what_its_plan_says(tmp_path: Path) -> None:
    with pytest.raises(VerifyError, match="another plan than the scenario quota has now"):
        run_of(tmp_path, FILE, "scenario-quota")


def test_the_program_alone_is_asked_nothing(tmp_path: Path) -> None:
    assert run_of(tmp_path, FILE, "scenario") == judged(tmp_path, FILE, workload="scenario")
