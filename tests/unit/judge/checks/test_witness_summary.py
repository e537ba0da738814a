"""What a verdict, a report and metrics.csv say of a cell's promises."""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.runs import VerifiedRun
from benchgate.base.workload.metrics import OF_THREADS, Metric, MetricDirection, MetricKind, SeenBy
from benchgate.base.workload.witness import WitnessedPromise
from benchgate.judge.checks.witness_summary import seen_by, told, who_says, witness_of
from tests.unit.factories import cell, raw_run, verified

KEPT = WitnessedPromise("syscalls.write >= rounds", "x", seen="10 >= 10", figures=("rounds",))
UNSEEN = WitnessedPromise("syscalls.write >= rounds", "x", why="an old log")
METRICS = {
    name: Metric(name, kind, MetricDirection.LESS, unit, of=of, per=per)
    for name, kind, unit, of, per in (
        ("p99", MetricKind.PERCENTILE, "ns", "latency", ""),
        ("ticks", MetricKind.PERCENTILE, "ticks", "latency", ""),
        ("cost", MetricKind.TIME, "ns", "spent", ""),
        ("mean", MetricKind.TIME, "ns", "latency.sum", "latency.count"),
        ("sum", MetricKind.COUNT, "", "latency.sum", ""),
        ("rate", MetricKind.RATE, "/s", "done", ""),
        ("share", MetricKind.SHARE, "share", "done", ""),
        ("per_call", MetricKind.TIME, "ns", "spent", "result.calls"),
        ("whole", MetricKind.TIME, "ns", "", ""),
    )
}


def run(*promises: WitnessedPromise, lane: Lane = Lane.INSN, measured: str = "") -> VerifiedRun:
    result = replace(verified(raw_run(cell(2), lane=lane), 1_000_000), promises=promises)
    metrics = {**result.metrics, **dict.fromkeys((*METRICS, *OF_THREADS), 1.0)}
    return replace(result, metrics=metrics, measured=frozenset(filter(None, [measured])))


def about(*figures: str, why: str = "", exact: tuple[str, ...] = ()) -> WitnessedPromise:
    seen = "" if why else "2 >= 1"
    return WitnessedPromise("a >= b", "x", seen=seen, why=why, figures=figures, exact=exact)


def test_a_verdict_says_how_many_figures_the_machine_measured_and_which_promises_were_kept() -> None:
    who = {"work": SeenBy.MACHINE, "p99": SeenBy.GUEST}
    assert told((), {"work": SeenBy.MACHINE}, Lane.INSN) == "; all 1 figure measured by the machine"
    kept = witness_of([run(KEPT), run(KEPT)])
    assert told(kept, who, Lane.INSN) == "; 1 of 2 figures measured by the machine, 1 promise seen kept"
    some = told(witness_of([run(KEPT), run(UNSEEN)]), who, Lane.INSN)
    assert some.endswith(", 0 of 1 promise seen kept: not `syscalls.write >= rounds` (an old log)")
    some = told((KEPT, UNSEEN, UNSEEN), who, Lane.INSN)
    assert some.endswith(
        ", 1 of 3 promises seen kept: not `syscalls.write >= rounds` (an old log), and 1 more"
    )


def test_a_promise_of_threads_is_witnessed_if_one_run_is() -> None:
    kept, unseen = (replace(promise, of_threads=True) for promise in (KEPT, UNSEEN))
    assert witness_of([run(unseen), run(kept)]) == (kept,)
    assert witness_of([run(unseen), run(unseen)]) == (unseen,)


def test_a_verdict_in_wall_time_says_nothing_of_it() -> None:
    assert told((UNSEEN,), {"work": SeenBy.GUEST}, Lane.TCG) == ""


WINDOWS = {"work": SeenBy.MACHINE, "total": SeenBy.MACHINE, "whole": SeenBy.MACHINE}
SAID = dict.fromkeys(("p99", "ticks", "cost", "mean", "sum", "rate", "share", "per_call"), SeenBy.GUEST)


def test_who_says_what_a_metric_is() -> None:
    both, guest = SeenBy.BOTH, SeenBy.GUEST
    assert seen_by(run(), METRICS) == WINDOWS | SAID
    of_latency = {"p99": both, "ticks": both, "sum": both}
    assert seen_by(run(about("latency.sum", "done")), METRICS) == WINDOWS | SAID | of_latency | {
        "rate": both,
        "share": both,
    }
    # each operand must be known; that another part of the result is does not make this one known
    assert seen_by(run(about("spent", "result.other")), METRICS) == WINDOWS | SAID | {"cost": both}
    assert seen_by(run(about("spent", "result.calls")), METRICS)["per_call"] is both
    assert seen_by(run(about("cost")), METRICS)["cost"] is both
    assert seen_by(run(about("spent", why="not seen")), METRICS)["cost"] is guest


def test_figures_of_a_histogram_that_the_machine_measured_are_its() -> None:
    machine = SeenBy.MACHINE
    assert seen_by(run(measured="latency"), METRICS) == WINDOWS | SAID | {"p99": machine, "mean": machine}
    assert seen_by(run(measured="other"), METRICS) == WINDOWS | SAID


def test_a_value_that_equals_what_the_machine_counted_is_its() -> None:
    tied = about("done", exact=("done",))
    # a share is of the largest worker and the smallest one, of which the sum says nothing
    assert seen_by(run(tied), METRICS) == WINDOWS | SAID | {"rate": SeenBy.MACHINE, "share": SeenBy.BOTH}
    assert seen_by(run(replace(tied, why="not seen")), METRICS) == WINDOWS | SAID
    half = about("spent", "result.calls", exact=("spent",))
    assert seen_by(run(half), METRICS)["per_call"] is SeenBy.BOTH


def test_a_figure_of_a_cell_is_the_machines_if_it_is_in_each_run() -> None:
    assert who_says([run(measured="latency")] * 2, METRICS)["p99"] is SeenBy.MACHINE
    assert who_says([run(measured="latency"), run()], METRICS)["p99"] is SeenBy.GUEST


def test_what_the_thread_view_has_is_the_machines() -> None:
    assert set(seen_by(run(), OF_THREADS).values()) == {SeenBy.MACHINE}


def test_in_wall_time_only_the_guest_says_it() -> None:
    assert set(seen_by(run(lane=Lane.TCG, measured="latency"), METRICS).values()) == {SeenBy.GUEST}
