"""What counts as a sample, and what can never be one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Lane, Placement, Window
from benchgate.base.errors import DecideError
from benchgate.base.runs import CpuUse, CpuWork, Resolution, VerifiedRun, WorkerReport
from benchgate.base.statistics.stats import Interval
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricDirection, MetricKind
from benchgate.judge.samples import measurement
from tests.unit.factories import cell, raw_run, verified


def runs(*works: int, first: int = 1) -> list[VerifiedRun]:
    return [verified(raw_run(cell(2), attempt=n), work) for n, work in enumerate(works, start=first)]


def exact(run: VerifiedRun) -> VerifiedRun:
    return replace(run, run=replace(run.run, lane=Lane.INSN))


def test_samples_are_in_the_order_of_execution() -> None:
    measured = measurement(reversed(runs(300, 100, 200)), WINDOWS["work"])
    assert measured.samples == (300.0, 100.0, 200.0)
    assert (measured.cell, measured.unit, measured.lane) == (cell(2), "ns", Lane.TCG)


def test_the_total_window_can_be_measured() -> None:
    assert measurement([verified(raw_run(cell()), 10, total=25)], WINDOWS["total"]).samples == (25.0,)


def test_the_time_in_work_and_the_clocks_delays_are_known_if_every_run_has_them() -> None:
    workers = tuple(WorkerReport(n, n, n, 100, end, {}) for n, end in enumerate((200, 150)))
    given = [exact(run) for run in runs(100, 200, 300)]
    clear = [replace(run, workers=workers, resolution=Resolution(50, 3, 10)) for run in given[:2]]
    assert (clear[0].work, clear[0].total) == (100, 1100)
    measured = measurement(clear, WINDOWS["work"])
    assert (measured.busy, measured.blur) == ((150.0, 150.0), (0.1, 0.05))
    assert measurement(clear, WINDOWS["total"]).blur == (10 / 1100, 10 / 1200)
    mixed = measurement([*clear, given[2]], WINDOWS["work"])
    assert (mixed.busy, mixed.blur) == ((), ())


def test_in_wall_time_what_other_tasks_used_may_have_made_a_window_longer() -> None:
    """Others used 100 of 1,000: the workers alone would have needed 900, so the figure may be a ninth too
    long."""
    run = replace(
        verified(raw_run(cell()), 1000, total=2000), foreign=100, metrics={"p99": 50.0, "lost": 0.0}
    )
    assert measurement([run], WINDOWS["work"]).blur == (100 / 900,)
    assert measurement([run], WINDOWS["total"]).blur == (100 / 1900,)
    assert measurement([run], COUNT).blur == measurement([run], P99).blur == (0.0,)
    assert measurement([replace(run, foreign=None)], WINDOWS["work"]).blur == ()
    assert measurement([replace(run, foreign=1000)], WINDOWS["work"]).blur == (1000.0,)


def test_each_sample_has_the_rate_of_its_boots_clock_except_on_the_instruction_clock() -> None:
    told = [replace(run, hz=hz) for run, hz in zip(runs(100, 200), (10**9, 2 * 10**9), strict=True)]
    assert measurement(told, WINDOWS["work"]).hz == (10**9, 2 * 10**9)
    assert measurement([*told, *runs(300, first=3)], WINDOWS["work"]).hz == ()
    timed = [exact(run) for run in told]
    assert measurement(timed, WINDOWS["work"]).hz == ()


def test_warm_ups_are_left_out_and_large_values_are_kept() -> None:
    kept = runs(100, 100, 10_000)
    warm = verified(raw_run(cell(2), attempt=8, warmup=True), 7)
    assert measurement([warm, *kept], WINDOWS["work"]).samples == (100.0, 100.0, 10_000.0)


def test_a_run_that_was_not_verified_cannot_be_measured() -> None:
    with pytest.raises(TypeError, match="only a VerifiedRun"):
        measurement([raw_run(cell())], WINDOWS["work"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"only benchgate\.judge\.verify"):
        VerifiedRun(raw_run(cell()), "ns", 1, 2, 0, (), key=object())


@pytest.mark.parametrize("warmup", [True, False])
def test_without_a_counted_run_there_is_no_measurement(warmup: bool) -> None:
    given = [verified(raw_run(cell(), warmup=True), 5)] if warmup else []
    with pytest.raises(DecideError, match="no counted run"):
        measurement(given, WINDOWS["work"])


def test_a_duplicate_attempt_is_refused() -> None:
    with pytest.raises(DecideError, match="duplicate attempt"):
        measurement(runs(100) * 2, WINDOWS["work"])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"cell": cell(4)}, "different cells .*: primes-linux-smp2 hi=.*, primes-linux-smp4"),
        ({"lane": Lane.KVM}, "different lanes .*: kvm, tcg"),
        ({"placement": Placement.SMT}, "different placements .*: physical, smt"),
        ({"guest_digest": "b" * 64}, "different guest digests"),
    ],
)
def test_runs_that_differ_are_not_one_arm(change: dict[str, object], named: str) -> None:
    one, two = runs(100, 100)
    with pytest.raises(DecideError, match=named):
        measurement([one, replace(two, run=replace(two.run, **change))], WINDOWS["work"])  # type: ignore[arg-type]


def test_runs_in_different_units_are_not_one_arm() -> None:
    one, two = runs(100, 100)
    with pytest.raises(DecideError, match=r"different units .*: cycles, ns"):
        measurement([one, replace(two, unit="cycles")], WINDOWS["work"])


P99 = Metric("p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)
COUNT = Metric("lost", MetricKind.COUNT, MetricDirection.LESS, "")


def test_a_declared_metric_has_its_own_unit_and_its_own_error() -> None:
    """One step of 5 in a latency of 50; a count has none."""
    run = replace(exact(verified(raw_run(cell()), 1000)), metrics={"p99": 50.0, "lost": 0.0})
    run = replace(run, resolution=Resolution(step=5, handovers=9, late=40))
    seen = measurement([run], P99)
    assert (seen.unit, seen.samples, seen.blur) == ("ns", (50.0,), (0.1,))
    assert measurement([run], COUNT).blur == (0.0,)
    assert measurement([run], WINDOWS["work"]).blur == (0.04,)


def test_each_window_has_the_delays_of_its_own_lines() -> None:
    run = exact(verified(raw_run(cell()), 1000))
    run = replace(run, resolution=Resolution(5, 9, late=40, late_in_total=100))
    shares = [measurement([run], WINDOWS[window]).blur for window in ("work", "total")]
    assert shares == [(0.04,), (0.05,)]


def test_a_run_without_the_metric_is_refused() -> None:
    with pytest.raises(DecideError, match="run 1 has no metric p99"):
        measurement(runs(100), P99)


def test_the_time_in_work_counts_only_if_each_worker_has_a_cpu() -> None:
    """Four workers on one CPU wait for each other: more CPUs shorten that, which is no fault of the base."""
    workers = tuple(WorkerReport(n, 0, 0, 0, 100, {}) for n in range(4))
    few = replace(verified(raw_run(cell(1)), 100), workers=workers)
    own = replace(verified(raw_run(cell(4)), 100), workers=workers)
    assert measurement([few], WINDOWS["work"]).busy == ()
    assert measurement([own], WINDOWS["work"]).busy == (400.0,)
    assert measurement([replace(own, metrics={"lost": 0.0})], COUNT).busy == ()


def test_workers_on_one_cpu_took_no_longer_than_it_was_awake() -> None:
    """There are as many workers as CPUs, but all on one of them: their waits for each other are no work."""
    workers = tuple(WorkerReport(n, 0, 0, 0, 100, {}) for n in range(2))
    use = CpuUse(Interval(1.0, 1.1))
    crowded = replace(verified(raw_run(cell(2)), 100), workers=workers, cpu_work=CpuWork({Window.WORK: use}))
    seen = measurement([crowded], WINDOWS["work"])
    assert seen.busy[0] == pytest.approx(110.0)
    assert seen.cpu_work == (crowded.cpu_work,)


def test_the_step_of_an_arm_is_the_largest_of_its_runs() -> None:
    coarse = [replace(run, resolution=Resolution(0, 0, 0, n)) for n, run in enumerate(runs(100, 200), 10)]
    assert measurement(coarse, WINDOWS["work"]).step == 11
    assert measurement(runs(100, 200), WINDOWS["work"]).step == 0


def test_the_step_of_a_printed_window_is_that_of_what_is_computed_from_it() -> None:
    """12 ticks of 10: a time per operation is off by a twelfth, and a rate most if only 11 of them passed."""
    kinds = (
        Metric("each", MetricKind.TIME, MetricDirection.LESS, "ns", per="result.ops"),
        Metric("rate", MetricKind.RATE, MetricDirection.MORE, "ops/s", of="result.ops"),
        Metric("own", MetricKind.TIME, MetricDirection.LESS, "ns", of="result.ns"),
        Metric("rate_of", MetricKind.RATE, MetricDirection.MORE, "ops/s", of="result.ops", per="result.ns"),
        Metric("ops", MetricKind.COUNT, MetricDirection.MORE, "", of="result.ops"),
    )
    values = {"each": 30.0, "rate": 110.0, "own": 5.0, "rate_of": 7.0, "ops": 4.0}
    (plain,) = runs(120)
    coarse = replace(plain, total=120, resolution=Resolution(0, 0, 0, printed=10), metrics=values)
    steps = [measurement([coarse], kind).step for kind in kinds]
    assert steps == pytest.approx([2.5, 10.0, 0.0, 0.0, 0.0])
    assert measurement([coarse], WINDOWS["work"]).step == 10
    assert measurement([replace(plain, metrics=values)], kinds[0]).step == 0
