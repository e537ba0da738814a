"""The ratio gate: two systems at one CPU count. Equal runs give an interval of no width."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Ruling, Word
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricDirection, MetricKind
from benchgate.judge.gates import check, judge
from tests.unit.factories import POLICY, arm, cell, measurement

RPS = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "requests/s", of="done")
LINUX, TERN = cell(2), cell(2, system="kernel")


def ratio(**changes: object) -> Gate:
    gate = Gate("tern-to-linux", "ratio", LINUX, TERN, "work", 1.0)
    return replace(gate, **changes)  # type: ignore[arg-type]


def rule(*arms: Arm, gate: Gate | None = None) -> Ruling:
    return judge(gate or ratio(), GateInput({arm.cell.id: arm for arm in arms}, POLICY, {}))


def both(linux: float, tern: float, lane: Lane = Lane.TCG) -> tuple[Arm, Arm]:
    return arm(LINUX, [linux] * 5), arm(TERN, [tern] * 5, lane=lane)


def with_rate(of: Arm, rate: float) -> Arm:
    one = measurement(of.cell, [rate] * 5, metric=RPS, unit="requests/s")
    return replace(of, measurements={**of.measurements, "rps": one})


def test_a_shorter_time_is_better() -> None:
    verdict = rule(*both(120, 100)).verdict
    assert verdict.reason == (
        "PASS: primes smp2 kernel/linux = 1.20 [1.20, 1.20] >= 1 (work, tcg, 5 runs per arm)"
    )
    assert (verdict.ratio, verdict.base_system, verdict.base_cpus, verdict.unit) == (1.2, "linux", 2, "x")
    assert rule(*both(100, 120)).verdict.outcome is Word.FAIL


def test_a_gate_of_an_earlier_version_is_judged_by_the_same_rule_under_its_own_name() -> None:
    today, before = (rule(*both(120, 100), gate=ratio(kind=kind)).verdict for kind in ("ratio", "compare"))
    assert replace(before, gate="ratio") == today
    assert before.gate == "compare"


def test_a_higher_rate_is_better() -> None:
    linux, tern = both(100, 100)
    gate = ratio(metric="rps")
    assert rule(with_rate(linux, 1000), with_rate(tern, 1500), gate=gate).verdict.ratio == 1.5
    assert rule(with_rate(linux, 1500), with_rate(tern, 1000), gate=gate).verdict.outcome is Word.FAIL


@pytest.mark.parametrize("limit", [{"at_least": 1.0}, {"at_least": None, "at_most": 1.0}])
def test_equal_systems_meet_a_threshold_of_one(limit: dict[str, float]) -> None:
    assert rule(*both(100, 100), gate=ratio(**limit)).verdict.outcome is Word.PASS


def test_a_difference_larger_than_the_cpus_allow_is_possible_between_systems() -> None:
    verdict = rule(*both(1000, 100)).verdict
    assert (verdict.outcome, verdict.ratio) == (Word.PASS, 10)


def counting(of: Arm, unit: str, *hz: int) -> Arm:
    work = of.measurement("work")
    assert work is not None
    return replace(of, measurements={"work": replace(work, unit=unit, hz=hz)})


def test_a_guest_that_counts_cycles_is_compared_in_nanoseconds_with_one_that_counts_those() -> None:
    """Each boot has measured the rate of its cycles."""
    linux, _ = both(120, 100)
    tern = arm(TERN, [200.0, 200.0, 300.0, 300.0, 300.0])
    rates = (2 * 10**9, 2 * 10**9, 3 * 10**9, 3 * 10**9, 3 * 10**9)
    verdict = rule(counting(linux, "ns", *[10**9] * 5), counting(tern, "cycles", *rates)).verdict
    assert (verdict.outcome, verdict.ratio) == (Word.PASS, 1.2)
    unknown = rule(counting(linux, "ns", *[10**9] * 5), counting(tern, "cycles")).verdict
    assert (unknown.outcome, unknown.ratio) == (Word.INVALID, None)
    assert "different units (ns and cycles)" in unknown.reason


def test_different_lanes_skip_and_name_them() -> None:
    verdict = rule(*both(120, 100, lane=Lane.KVM)).verdict
    assert verdict.outcome is Word.SKIP
    assert "arms with different lanes (tcg and kvm) cannot be compared" in verdict.reason


def test_a_system_that_was_not_run_skips_with_its_reason() -> None:
    verdict = rule(Arm(LINUX, skipped="it lacks the service park"), arm(TERN, [100.0] * 5)).verdict
    assert (verdict.outcome, "it lacks the service park" in verdict.reason) == (Word.SKIP, True)


def test_a_figure_of_zero_has_no_ratio() -> None:
    linux, tern = both(100, 100)
    gate = ratio(metric="rps")
    verdict = rule(with_rate(linux, 0), with_rate(tern, 1500), gate=gate).verdict
    assert (verdict.outcome, verdict.ratio) == (Word.INCONCLUSIVE, None)
    assert "rps is 0 in a run, so there is no ratio; next: use a `limit`" in verdict.reason


def test_a_system_is_not_compared_with_itself() -> None:
    verdict = rule(arm(LINUX, [100.0] * 5), gate=ratio(cell=LINUX)).verdict
    assert (verdict.outcome, "not compared with itself" in verdict.reason) == (Word.SKIP, True)


@pytest.mark.parametrize("change", [{"base": None}, {"base": cell(1)}, {"at_least": None}, {"at_most": 2.0}])
def test_an_invalid_gate_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(DecideError):
        check(ratio(**change), WINDOWS["work"], POLICY)


def test_figures_of_two_machines_are_never_compared() -> None:
    other = cell(2, system="kernel-desktop8")
    arms = arm(LINUX, [120] * 5), arm(other, [100] * 5)
    verdict = rule(*arms, gate=ratio(cell=other)).verdict
    assert verdict.outcome is Word.INVALID
    assert "arms with different machines (ideal and desktop8) cannot be compared" in verdict.reason
