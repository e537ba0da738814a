"""The regression gate: one arm beside a baseline. Equal runs give an interval of no width."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling, Verdict, Word
from benchgate.base.runs import Measurement
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.features.baseline.baselines import Baseline, Origin
from benchgate.features.baseline.regression import completed
from benchgate.features.baseline.tests import baselines
from benchgate.features.baseline.tests.baselines import FILE, ORIGIN, SYSTEM, against, baseline, figures
from benchgate.judge.gates import check, judge
from tests.unit.factories import POLICY, cell
from tests.unit.judge.gates.test_groups import OLD, mixed, seeded

CELL = cell(2)
RPS = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "requests/s", of="done")
INSN: dict[str, Any] = {"lane": Lane.INSN, "unit": "insn"}
DIFF = f"benchgate baseline diff {FILE} runs/0002-x"
ACCEPT = f"benchgate baseline accept SESSION --add --out {FILE}"


def gate(**changes: object) -> Gate:
    made = Gate("g", "regression", None, CELL, at_most=1.02, baseline=FILE)
    return replace(made, **changes)  # type: ignore[arg-type]


def now(samples: Sequence[float], *more: Measurement, **facts: Any) -> Arm:
    measurements = [figures(CELL, samples, name=name, **facts) for name in ("work", "total")]
    every = {measurement.metric.name: measurement for measurement in (*measurements, *more)}
    lane, placement = measurements[0].lane, measurements[0].placement
    return Arm(CELL, lane, placement, every, len(samples), sample="runs/0002-x")


def then(samples: Sequence[float], *more: Measurement, **facts: Any) -> Baseline:
    return baseline(baselines.arm(CELL, samples, *more, **facts))


def rule(
    arm: Arm,
    kept: Baseline | None,
    here: Origin = ORIGIN,
    policy: Policy = POLICY,
    asked: Gate | None = None,
) -> Ruling:
    return judge(asked or gate(), GateInput({CELL.id: arm}, policy, {}, against(kept, here)))


def decided(arm: Arm, kept: Baseline | None, here: Origin = ORIGIN, **changes: object) -> Verdict:
    return rule(arm, kept, here, asked=gate(**changes)).verdict


def test_equal_figures_are_no_regression() -> None:
    verdict = decided(now([100] * 5), then([100] * 5))
    assert verdict.reason == (
        "PASS: primes-linux-smp2/baseline = 1.00 [1.00, 1.00] <= 1.02 (work, tcg, 5 runs, baseline of "
        "2026-01-02: 5 runs of the same guest)"
    )
    assert (verdict.ratio, verdict.bound, verdict.unit, verdict.baseline) == (1.0, "most", "x", FILE)
    assert (verdict.base_cpus, verdict.base_system) == (None, None)


def test_a_longer_time_is_a_regression_and_the_command_that_shows_it_is_named() -> None:
    verdict = decided(now([110] * 5), then([100] * 5))
    assert (verdict.outcome, verdict.ratio) == (Word.FAIL, 1.1)
    assert verdict.reason.endswith(f"; next: benchgate baseline diff {FILE} runs/0002-x")


def test_a_loss_within_the_threshold_passes_without_advice() -> None:
    verdict = decided(now([101] * 5), then([100] * 5))
    assert (verdict.outcome, "next:" in verdict.reason) == (Word.PASS, False)


def test_a_large_improvement_passes_and_says_that_the_baseline_is_stale() -> None:
    verdict = decided(now([50] * 5), then([100] * 5))
    assert (verdict.outcome, verdict.ratio) == (Word.PASS, 0.5)
    assert verdict.reason.endswith(f"next: it is better than the baseline, which is stale: {DIFF}")


def test_a_lower_rate_is_a_regression() -> None:
    def rates(rate: float) -> Measurement:
        return replace(figures(CELL, [rate] * 5), metric=RPS, unit="requests/s")

    before, slower, faster = (then([100] * 5, rates(100)), *(now([100] * 5, rates(n)) for n in (80, 125)))
    assert decided(slower, before, metric="rps").outcome is Word.FAIL
    assert decided(slower, before, metric="rps").ratio == 1.25
    assert (decided(faster, before, metric="rps").ratio, decided(faster, before, metric="rps").outcome) == (
        0.8,
        Word.PASS,
    )


def test_noise_around_the_threshold_decides_nothing() -> None:
    verdict = decided(now([95, 99, 103, 107, 101]), then([97, 103, 100, 98, 104]))
    assert verdict.outcome is Word.INCONCLUSIVE


def test_the_instruction_clock_has_its_own_threshold() -> None:
    arm, kept = now([101] * 5, **INSN, guest="f" * 64), then([100] * 5, **INSN)
    assert decided(arm, kept, insn=1.005).outcome is Word.FAIL
    assert decided(arm, kept).outcome is Word.PASS


def test_it_asks_for_the_runs_that_it_needs() -> None:
    ruling = rule(now([100] * 3), then([100] * 5))
    assert (ruling.verdict.outcome, dict(ruling.needs)) == (Word.SKIP, {CELL.id: 5})


# ---- absence is never a PASS


def test_a_missing_baseline_is_invalid() -> None:
    verdict = decided(now([100] * 5), None)
    assert verdict.reason.startswith("INVALID: primes-linux-smp2/baseline: ")
    assert verdict.reason.endswith(f" {FILE}; next: {ACCEPT}")


def test_a_missing_cell_is_invalid() -> None:
    verdict = decided(now([100] * 5), baseline(baselines.arm(cell(4), [100] * 5)))
    assert verdict.outcome is Word.INVALID
    assert f"the baseline {FILE} does not have this cell; next: {ACCEPT}" in verdict.reason


def test_other_parameters_are_another_cell() -> None:
    other = replace(CELL, params=(("hi", 5), ("split", "balanced")))
    assert decided(now([100] * 5), baseline(baselines.arm(other, [100] * 5))).outcome is Word.INVALID


def test_a_missing_metric_is_invalid() -> None:
    rates = replace(figures(CELL, [5] * 5), metric=RPS, unit="requests/s")
    verdict = decided(now([100] * 5, rates), then([100] * 5), metric="rps")
    assert verdict.outcome is Word.INVALID
    assert re.search("no metric rps of primes-linux-smp2; .* work, total", verdict.reason)


def test_a_session_that_decides_nothing_only_informs() -> None:
    quick = replace(POLICY, informs="--quick decides nothing")
    for kept in (None, then([100] * 5)):
        verdict = rule(now([100] * 5), kept, policy=quick).verdict
        assert (verdict.outcome, "--quick decides nothing" in verdict.reason) == (Word.SKIP, True)


def test_the_other_clock_shows_its_figures_and_decides_nothing() -> None:
    other = replace(POLICY, informs="wall time decides", shows=True)
    verdict = rule(now([110] * 5), then([100] * 5), policy=other).verdict
    assert (verdict.outcome, verdict.ratio) == (Word.SKIP, 1.1)


def test_a_figure_of_zero_has_no_ratio() -> None:
    verdict = decided(now([0] * 5), then([100] * 5))
    assert (verdict.outcome, verdict.ratio) == (Word.INCONCLUSIVE, None)
    assert "work is 0 in a run, so there is no ratio" in verdict.reason


# ---- what is never compared


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        (now([100] * 5, lane=Lane.KVM), "another lane: tcg there, kvm here"),
        (now([100] * 5, unit="cycles"), "another unit: ns there, cycles here"),
        (now([100] * 5, **INSN), "another lane: tcg there, insn here"),
    ],
)
def test_another_lane_or_unit_is_named(arm: Arm, said: str) -> None:
    verdict = decided(arm, then([100] * 5))
    assert verdict.outcome is Word.INVALID
    assert f"the baseline has {said}; next: " in verdict.reason


def test_another_placement_is_named() -> None:
    arm = now([100] * 5)
    smt = {
        name: replace(measurement, placement=Placement.SMT) for name, measurement in arm.measurements.items()
    }
    verdict = decided(replace(arm, placement=Placement.SMT, measurements=smt), then([100] * 5))
    assert (verdict.outcome, "another placement: physical there, smt here" in verdict.reason) == (
        Word.INVALID,
        True,
    )


def test_another_definition_of_a_metric_is_named() -> None:
    mine, other = (
        replace(figures(CELL, [5] * 5), metric=replace(RPS, of=of), unit="requests/s")
        for of in ("done", "asked")
    )
    verdict = decided(now([100] * 5, mine), then([100] * 5, other), metric="rps")
    assert verdict.outcome is Word.INVALID
    assert re.search("definition of rps: rate asked .* there, rate done .* here", verdict.reason)


OTHER_MACHINES = [
    (replace(ORIGIN, machine={"cpu_model": "Other", "cores": "2"}), "cpu_model: Example there, Other here"),
    (replace(ORIGIN, machine={"cpu_model": "Example"}), "cores: 2 there, - here"),
    (
        replace(ORIGIN, systems={"linux": replace(SYSTEM, qemu="f" * 64)}),
        f"QEMU (digest): {'e' * 64} there, {'f' * 64} here",
    ),
]


@pytest.mark.parametrize(("here", "said"), OTHER_MACHINES)
def test_on_wall_time_another_machine_is_named(here: Origin, said: str) -> None:
    verdict = decided(now([100] * 5), then([100] * 5), here)
    assert (verdict.outcome, f"the baseline has another {said}" in verdict.reason) == (Word.INVALID, True)


@pytest.mark.parametrize(("here", "said"), OTHER_MACHINES)
def test_on_the_instruction_clock_the_machine_plays_no_part(here: Origin, said: str) -> None:
    assert decided(now([100] * 5, **INSN), then([100] * 5, **INSN), here).outcome is Word.PASS


def test_a_baseline_of_several_lanes_is_compared_with_its_own() -> None:
    both = baseline(baselines.arm(CELL, [50] * 5), baselines.arm(CELL, [100] * 5, **INSN))
    assert decided(now([100] * 5, **INSN), both).ratio == 1


# ---- the instruction clock, with equal digests

SPREAD = (100, 120, 140, 110, 130)


def test_the_same_program_is_compared_seed_by_seed_without_chance() -> None:
    verdict = decided(now(SPREAD, **INSN), then(SPREAD, **INSN))
    assert (verdict.outcome, verdict.ratio, verdict.low, verdict.high) == (Word.PASS, 1, 1, 1)
    assert "5 runs of the same guest, equal to the last digit)" in verdict.reason


def test_another_guest_is_compared_by_its_interval_and_named() -> None:
    verdict = decided(now(SPREAD, **INSN, guest="f" * 64), then(SPREAD, **INSN))
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "5 runs of another guest" in verdict.reason


def test_one_instruction_more_in_one_seed_is_found() -> None:
    after = (100_000_000, 100_000_000, 100_000_001, 100_000_000, 100_000_000)
    verdict = decided(now(after, **INSN), then([100_000_000] * 5, **INSN))
    assert verdict.outcome is Word.INVALID
    assert "work of seed 3 was 100,000,000 insn and is 100,000,001 (+1); 1 of 5 seeds" in verdict.reason
    assert verdict.reason.endswith(f"next: benchgate baseline diff {FILE} runs/0002-x --profile")


def test_a_difference_in_another_metric_is_found_too() -> None:
    arm = now([100] * 5, figures(CELL, [200, 200, 200, 200, 199], name="total", **INSN), **INSN)
    kept = then([100] * 5, figures(CELL, [200] * 5, name="total", **INSN), **INSN)
    verdict = decided(arm, kept)
    assert verdict.outcome is Word.INVALID
    assert "total of seed 5 was 200 insn and is 199 (-1)" in verdict.reason


@pytest.mark.parametrize("changed", ["definition", "qemu", "clock"])
def test_each_digest_that_differs_excuses_a_difference(changed: str) -> None:
    here = replace(ORIGIN, systems={"linux": replace(SYSTEM, **{changed: "f" * 64})})
    verdict = decided(now([101] * 5, **INSN), then([100] * 5, **INSN), here)
    assert verdict.outcome is Word.PASS
    name = {"definition": "system", "qemu": "QEMU", "clock": "clock"}[changed]
    assert f"of another {name}" in verdict.reason


def test_a_clock_that_was_not_recorded_promises_nothing() -> None:
    here = replace(ORIGIN, systems={"linux": replace(SYSTEM, clock="")})
    kept = replace(then([100] * 5, **INSN), origin=here)
    assert decided(now([101] * 5, **INSN), kept, here).outcome is Word.PASS


def test_equal_zeros_are_equal() -> None:
    verdict = decided(now([0] * 5, **INSN), then([0] * 5, **INSN))
    assert (verdict.outcome, verdict.ratio, verdict.smallest_effect) == (Word.PASS, 1, 0)


def test_on_wall_time_it_does_not_matter_which_clock_the_session_had_besides() -> None:
    here = replace(ORIGIN, systems={"linux": replace(SYSTEM, clock="")})
    assert "5 runs of the same guest" in decided(now([100] * 5), then([100] * 5), here).reason


def test_the_smallest_effect_that_it_could_have_seen_is_stated() -> None:
    """Noise of 2% on both sides gives some percent, no noise gives none."""
    noisy = decided(now([100, 102, 98, 101, 99]), then([100, 98, 102, 99, 101])).smallest_effect
    assert noisy is not None
    assert 0.02 < noisy < 0.2
    assert decided(now([100] * 5), then([100] * 5)).smallest_effect == 0


def test_seeds_that_only_one_of_both_has_are_not_compared() -> None:
    arm = now([100] * 5, **INSN, seeds=(6, 7, 8, 9, 10))
    assert decided(arm, then([101] * 5, **INSN)).outcome is Word.PASS


# ---- gates that make no sense


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"at_most": 0.9}, "at_most=0.9 would fail on figures that are equal"),
        ({"insn": 0.5}, "insn=0.5 would fail"),
        ({"at_least": 1.0}, "takes a cell, at_most and a baseline"),
        ({"at_most": None}, "takes a cell, at_most and a baseline"),
        ({"base": cell(1)}, "and no base"),
        ({"baseline": ""}, "takes a cell, at_most and a baseline"),
    ],
)
def test_an_invalid_gate_is_refused_before_and_after(changes: dict[str, object], said: str) -> None:
    with pytest.raises(DecideError, match=said):
        check(gate(**changes), RPS, POLICY)
    with pytest.raises(DecideError, match=said):
        rule(now([100] * 5), then([100] * 5), asked=gate(**changes))


# ---- machines


def on_machine(digest: str) -> tuple[Arm, Baseline, Origin]:
    """An arm on desktop8, its baseline, and the origin of a session whose desktop8 has this digest."""
    on = cell(2, system="linux-desktop8")
    measurements = [figures(on, [100] * 5, name=name, **INSN) for name in ("work", "total")]
    arm = Arm(
        on,
        Lane.INSN,
        measurements[0].placement,
        {measurement.metric.name: measurement for measurement in measurements},
        5,
    )
    kept = replace(ORIGIN, systems={"linux-desktop8": replace(SYSTEM, machine="1" * 64)})
    here = replace(ORIGIN, systems={"linux-desktop8": replace(SYSTEM, machine=digest)})
    return arm, baseline(baselines.arm(on, [100] * 5, **INSN), origin=kept), here


def of_arm(arm: Arm, kept: Baseline, here: Origin) -> Verdict:
    """Like `decided`, for an arm of another cell."""
    gate_input = GateInput({arm.cell.id: arm}, POLICY, {}, against(kept, here))
    return judge(gate(cell=arm.cell), gate_input).verdict


def test_a_baseline_of_the_same_machine_is_compared() -> None:
    arm, kept, here = on_machine("1" * 64)
    assert of_arm(arm, kept, here).outcome is Word.PASS


def test_a_machine_whose_file_has_changed_is_another_machine() -> None:
    arm, kept, here = on_machine("2" * 64)
    verdict = of_arm(arm, kept, here)
    assert verdict.outcome is Word.INVALID
    assert "the baseline has another file of machine desktop8 (digest): 1111" in verdict.reason


def test_a_baseline_of_another_machine_is_named() -> None:
    arm, _, here = on_machine("1" * 64)
    verdict = of_arm(arm, then([100] * 5, **INSN), here)
    assert verdict.outcome is Word.INVALID
    assert "only on machine ideal" in verdict.reason


# ---- the command that accepts the session


def ids(*verdicts: Verdict) -> list[tuple[str, ...]]:
    return [one.commands for one in completed(verdicts)]


def test_a_command_that_accepts_names_what_is_refused_beside_it() -> None:
    """They were told only after `baseline accept` had refused."""
    lacking = decided(now([100] * 5), None)
    slow = replace(decided(now([110] * 5), then([100] * 5)), id="a slow cell")
    good = replace(decided(now([100] * 5), then([100] * 5)), id="good")
    whole = f"{ACCEPT} --despite 'a slow cell'"
    assert ids(lacking, good) == [(ACCEPT,), ()]
    assert ids(lacking, slow, good)[0] == (whole,)
    twice = completed(completed([lacking, slow]))
    assert twice[0].commands == (whole,)
    assert twice[0].reason.endswith(f"; next: {whole}")


def test_a_session_that_is_no_baseline_is_not_advised_to_be_accepted() -> None:
    lacking = decided(now([100] * 5), None)
    broken = replace(lacking, id="broken", gate="verified", commands=())
    (first, _) = completed([lacking, broken])
    assert first.commands == ()
    assert "baseline accept" not in first.reason
    assert first.reason.endswith("a session with it is no baseline")


def test_a_name_that_a_shell_would_read_is_quoted() -> None:
    lacking = decided(now([100] * 5), None, baseline="x; rm -r y")
    assert lacking.commands == ("benchgate baseline accept SESSION --add --out 'x; rm -r y'",)


def test_a_regression_passes_only_if_the_worst_group_does() -> None:
    now = seeded(2, mixed(1, 9))
    kept = baseline(baselines.arm(cell(2), [100.0] * 9, lane=Lane.INSN, unit="ns"))
    asked = Gate("g", "regression", None, cell(2), at_most=1.1, baseline=FILE)
    measured = {now.cell.id: now}
    nine = {"first": 9, "max_runs": 9}
    old, new = (
        judge(asked, GateInput(measured, replace(policy, **nine), {}, against(kept))).verdict  # type: ignore[arg-type]
        for policy in (OLD, POLICY)
    )
    assert old.outcome is Word.PASS
    assert new.outcome is Word.INCONCLUSIVE
    assert f"the runs of {cell(2).id} fall into 2 groups" in new.reason
