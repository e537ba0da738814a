"""Timelines: which runs have one, and where their workers are, by the recorded console."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import Outcome, VerifiedRun
from benchgate.judge.accounts.timeline import WorkerSpan, flames, timelines
from benchgate.judge.judged_run import JudgedRun
from benchgate.run.record import clock_log
from tests.unit.factories import cell, verified
from tests.unit.insn.test_activity import LINES, with_lines
from tests.wirekit import field, primes_run, recorded

CONSOLE = recorded("good-linux-primes-smp2")


def run_of(folder: Path, attempt: int, work: int, *, cpus: int = 2, insn: bool = False) -> JudgedRun:
    """A verified run with the recorded console, that took `work`."""
    raw = replace(
        primes_run(folder / "runs" / f"{attempt:04}-primes", CONSOLE), attempt=attempt, cell=cell(cpus)
    )
    if insn:
        log = clock_log(raw.folder)
        log.write_text(with_lines(LINES), encoding="ascii")
        raw = replace(raw, lane=Lane.INSN, clock_log=log, seed=7)
    done: VerifiedRun = verified(raw, work, total=window())
    return JudgedRun(raw, replace(done, workers=(None,) * 2))  # type: ignore[arg-type]


def window() -> int:
    return field(CONSOLE, "window", "total_end") - field(CONSOLE, "window", "total_start")


def test_the_median_and_the_slowest_run_of_each_cell(tmp_path: Path) -> None:
    runs = [run_of(tmp_path, number, work) for number, work in enumerate((300, 100, 200, 170), 1)]
    run = run_of(tmp_path, 9, 50, cpus=1)
    result = timelines([*runs, run])
    assert [(t.run, t.which) for t in result] == [(4, "median"), (1, "slowest"), (9, "only")]
    assert result[1].share == pytest.approx(300 / 170)
    assert result[0].folder == "runs/0004-primes"
    assert (result[0].seed, result[0].activity) == (None, None)


def test_workers_lie_in_the_total_window(tmp_path: Path) -> None:
    (timeline,) = timelines([run_of(tmp_path, 1, 100)])
    begin = field(CONSOLE, "window", "total_start")
    for bar in timeline.workers:
        name = f"worker{bar.worker}"
        cpus = field(CONSOLE, name, "cpu"), field(CONSOLE, name, "cpu_end")
        times = field(CONSOLE, name, "start") - begin, field(CONSOLE, name, "end") - begin
        assert bar == WorkerSpan(bar.worker, *cpus, *times)
    assert len(timeline.workers) == 2
    assert timeline.length == window()


def test_on_the_instruction_clock_there_are_columns(tmp_path: Path) -> None:
    (timeline,) = timelines([run_of(tmp_path, 1, 100, insn=True)])
    assert timeline.seed == 7
    assert timeline.activity is not None
    assert len(timeline.activity.vcpus) == 2


def test_only_samples_have_a_timeline(tmp_path: Path) -> None:
    good = run_of(tmp_path, 1, 100)
    warmup = replace(good, run=replace(good.run, warmup=True))
    assert warmup.outcome is Outcome.WARMUP
    assert timelines([warmup, JudgedRun(good.run, None, "no end line")]) == ()


def test_a_run_without_workers_and_columns_has_none(tmp_path: Path) -> None:
    run = run_of(tmp_path, 1, 100)
    assert run.verified is not None
    assert timelines([replace(run, verified=replace(run.verified, workers=()))]) == ()


def test_call_stacks_are_found_in_the_folders_of_verified_runs(tmp_path: Path) -> None:
    runs = [run_of(tmp_path, number, 100) for number in (1, 2)]
    assert flames(runs) == ()
    (runs[1].run.folder / "stacks.folded").write_text("main;work 7\n")
    (flame,) = flames(runs)
    assert (flame.run, flame.folder, flame.content) == (2, "runs/0002-primes", {("main", "work"): 7})
    assert flames([replace(runs[1], verified=None)]) == ()
    (runs[1].run.folder / "stacks.folded").write_text("main;work x\n")
    with pytest.raises(VerifyError, match=r"stacks.folded:1: this is not a folded stack"):
        flames(runs)
