"""What a verdict, a report and metrics.csv say of a cell's promises."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.runs import VerifiedRun
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.base.workload.witness import WitnessedPromise
from benchgate.judge.checks.witness_summary import SeenBy, only_said, seen_by, told, witness_of
from tests.unit.factories import cell, raw_run, verified

KEPT = WitnessedPromise("syscalls.write >= rounds", "x", seen="10 >= 10", figures=("rounds",))
UNSEEN = WitnessedPromise("syscalls.write >= rounds", "x", why="an old log")
METRICS = {
    name: Metric(name, kind, MetricDirection.LESS, unit, of=of, per=per)
    for name, kind, unit, of, per in (
        ("p99", MetricKind.PERCENTILE, "ns", "latency", ""),
        ("cost", MetricKind.TIME, "ns", "spent", ""),
        ("rate", MetricKind.RATE, "/s", "done", ""),
        ("per_call", MetricKind.TIME, "ns", "spent", "result.calls"),
        ("whole", MetricKind.TIME, "ns", "", ""),
    )
}


def run(*promises: WitnessedPromise, lane: Lane = Lane.INSN) -> VerifiedRun:
    return replace(verified(raw_run(cell(2), lane=lane), 1_000_000), promises=promises)


def about(*figures: str, why: str = "") -> WitnessedPromise:
    return WitnessedPromise("a >= b", "x", seen="" if why else "2 >= 1", why=why, figures=figures)


def test_a_cell_is_witnessed_if_each_of_its_runs_is() -> None:
    assert told(witness_of([run(KEPT), run(KEPT)]), Lane.INSN) == " and witnessed"
    assert told(witness_of([run(KEPT), run(UNSEEN)]), Lane.INSN) == "; not witnessed (an old log)"
    some = told((KEPT, UNSEEN), Lane.INSN)
    assert some == "; 1 of 2 promises witnessed: not `syscalls.write >= rounds` (an old log)"
    assert told((), Lane.INSN) == ""


def test_a_promise_of_threads_is_witnessed_if_one_run_is() -> None:
    kept, unseen = (replace(promise, of_threads=True) for promise in (KEPT, UNSEEN))
    assert witness_of([run(unseen), run(kept)]) == (kept,)
    assert witness_of([run(unseen), run(unseen)]) == (unseen,)


def test_a_verdict_in_wall_time_says_nothing_of_it() -> None:
    assert told((UNSEEN,), Lane.TCG) == ""


def test_a_length_that_only_the_guest_saw_is_named() -> None:
    seen = (about("latency.sum"),)
    assert only_said(METRICS, seen) == ("cost", "per_call")
    assert only_said(METRICS, ()) == ("p99", "cost", "per_call")


def test_who_says_what_a_metric_is() -> None:
    machine, both, guest = SeenBy.MACHINE, SeenBy.BOTH, SeenBy.GUEST
    windows = {"work": machine, "total": machine, "whole": machine}
    said = {"p99": guest, "cost": guest, "rate": guest, "per_call": guest}
    assert seen_by(run(), METRICS) == windows | said
    assert seen_by(run(about("latency.sum", "done")), METRICS) == windows | said | {"p99": both, "rate": both}
    # each operand must be known; that another part of the result is does not make this one known
    assert seen_by(run(about("spent", "result.other")), METRICS) == windows | said | {"cost": both}
    assert seen_by(run(about("spent", "result.calls")), METRICS)["per_call"] is both
    assert seen_by(run(about("cost")), METRICS)["cost"] is both
    assert seen_by(run(about("spent", why="not seen")), METRICS)["cost"] is guest


def test_in_wall_time_only_the_guest_says_it() -> None:
    assert set(seen_by(run(lane=Lane.TCG), METRICS).values()) == {SeenBy.GUEST}
