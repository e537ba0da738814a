"""Arms from judged runs: which runs they hold, and which metrics."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.metrics import Better, Metric, MetricKind
from benchgate.judge.arms import arms
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import cell, raw_run, verified

RPS = Metric("rps", MetricKind.RATE, Better.MORE, "requests/s", of="done")


def test_an_arm_has_the_windows_and_the_declared_metrics() -> None:
    run = replace(verified(raw_run(cell(2)), 1000), metrics={"rps": 7.0, "undeclared": 1.0})
    found = arms([(cell(2), "")], [JudgedRun(run.run, run)], {"rps": RPS})[cell(2).id]
    assert {name: one.samples for name, one in found.measurements.items()} == {
        "work": (1000.0,), "total": (2000.0,), "rps": (7.0,),
    }  # fmt: skip
    assert found.runs == 1


def test_a_run_without_a_declared_metric_makes_its_arm_invalid() -> None:
    run = verified(raw_run(cell(2)), 1000)
    found = arms([(cell(2), "")], [JudgedRun(run.run, run)], {"rps": RPS})[cell(2).id]
    assert found.invalid == ("primes-linux-smp2: run 1 has no metric rps",)


def test_a_skipped_cell_has_no_runs_although_another_sweep_measured_it() -> None:
    run = verified(raw_run(cell(2)), 1000)
    found = arms([(cell(2), "another lane")], [JudgedRun(run.run, run)])[cell(2).id]
    assert (found.runs, found.attempted, found.skipped) == (0, 0, "another lane")


def test_a_metric_without_a_value_in_one_run_is_not_measured_and_the_others_are() -> None:
    """A warm-up counts for nothing here, too."""

    def run(attempt: int, *, rps: float | None, warmup: bool = False) -> JudgedRun:
        one = verified(raw_run(cell(2), attempt=attempt, warmup=warmup), 1000)
        if rps is None:
            return JudgedRun(one.run, replace(one, absent={"rps": "its histogram `h` is empty"}))
        return JudgedRun(one.run, replace(one, metrics={"rps": rps}))

    declared, cells = {"rps": RPS}, [(cell(2), "")]
    runs = [run(1, rps=7), run(2, rps=None), run(3, rps=None)]
    found = arms(cells, runs, declared)[cell(2).id]
    assert (found.runs, set(found.measurements), found.invalid) == (3, {"work", "total"}, ())
    name = runs[1].run.folder.name
    assert found.absent == {"rps": f"2 of 3 runs without a value: {name}: its histogram `h` is empty"}
    found = arms(cells, [run(1, rps=None, warmup=True), run(2, rps=7)], declared)[cell(2).id]
    assert (set(found.measurements), found.absent) == ({"work", "total", "rps"}, {})


def test_a_metric_that_every_run_skipped_is_not_of_the_arm() -> None:
    def run(attempt: int, why: str) -> JudgedRun:
        one = verified(raw_run(cell(2), attempt=attempt), 1000)
        return JudgedRun(one.run, replace(one, skipped={"rps": why} if why else {}))

    found = arms([(cell(2), "")], [run(1, "no clock"), run(2, "none")], {"rps": RPS})[cell(2).id]
    assert (set(found.measurements), found.invalid) == ({"work", "total"}, ())
    assert found.lacks == {"rps": "no clock"}
    found = arms([(cell(2), "")], [run(1, "no clock"), run(2, "")], {"rps": RPS})[cell(2).id]
    assert found.invalid == ("primes-linux-smp2: run 1 has no metric rps",)
