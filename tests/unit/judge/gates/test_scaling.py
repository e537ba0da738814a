"""The scaling gate. The arms are made from laws, so what is expected follows by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, CapacityBound, Gate, GateInput, Policy, Ruling, Word
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricDirection, MetricKind
from benchgate.judge.gates import check, judge
from tests.unit.factories import POLICY, arm, cell, measurement

SPREAD = (1.0, 0.99, 1.01, 0.995, 1.005)
FOUR, FIVE = (1, 2, 4, 8), (1, 2, 4, 8, 16)


def amdahl(at_most: float | None = 0.06, counts: Sequence[int] = FOUR, **changes: object) -> Gate:
    cells = tuple(cell(count) for count in counts)
    gate = Gate("row-scaling-amdahl", "scaling", cells[0], cells[-1], "work", None, at_most, more=cells[1:-1])
    return replace(replace(gate, settings=(("model", "amdahl"),)), **changes)  # type: ignore[arg-type]


def usl(parameter: str, **changes: object) -> Gate:
    words = {"settings": (("model", "usl"), ("parameter", parameter)), "at_most": None}
    return amdahl(counts=FIVE, **{**words, **changes})  # type: ignore[arg-type]


def times(counts: Sequence[int], sigma: float, kappa: float = 0.0) -> dict[int, float]:
    return {n: 1e6 * (1 + sigma * (n - 1) + kappa * n * (n - 1)) / n for n in counts}


def arms(of: Mapping[int, float], **facts: object) -> list[Arm]:
    return [arm(cell(n), [time * by for by in SPREAD], **facts) for n, time in of.items()]  # type: ignore[arg-type]


def rule(
    gate: Gate,
    of: Sequence[Arm],
    policy: Policy = POLICY,
    capacity: Mapping[int, CapacityBound] | None = None,
) -> Ruling:
    return judge(gate, GateInput({one.cell.id: one for one in of}, policy, capacity or {}))


def test_a_serial_share_passes_below_its_threshold() -> None:
    verdict = rule(amdahl(), arms(times(FOUR, 0.05))).verdict
    assert verdict.outcome is Word.PASS
    assert verdict.reason.startswith("PASS: primes-linux smp1,2,4,8 serial = 0.050 [0.0")
    assert verdict.reason.endswith("] <= 0.06 (work, tcg, 5 runs per arm)")
    assert verdict.value == pytest.approx(0.05)
    assert verdict.low is not None
    assert verdict.high is not None
    assert 0.044 < verdict.low < 0.05 < verdict.high < 0.056
    assert (verdict.parameter, verdict.ratio, verdict.base_cpus, verdict.cpus) == ("serial", None, 1, 8)


def test_a_serial_share_above_its_threshold_fails() -> None:
    verdict = rule(amdahl(0.04), arms(times(FOUR, 0.05))).verdict
    assert verdict.outcome is Word.FAIL
    assert " > 0.04 " in verdict.reason
    assert "next: --measure" in verdict.reason


def test_a_share_at_the_threshold_needs_more_runs_of_every_arm() -> None:
    ruling = rule(amdahl(0.05), arms(times(FOUR, 0.05)))
    assert ruling.verdict.outcome is Word.INCONCLUSIVE
    assert dict(ruling.needs) == {f"primes-linux-smp{n}": 9 for n in FOUR}


@pytest.mark.parametrize(
    ("parameter", "bounds", "word"),
    [
        ("sigma", {"at_most": 0.05}, Word.PASS),
        ("sigma", {"at_most": 0.03}, Word.FAIL),
        ("kappa", {"at_most": 0.006}, Word.PASS),
        ("kappa", {"at_most": 0.004}, Word.FAIL),
        ("peak", {"at_least": 12.0}, Word.PASS),
        ("peak", {"at_least": 16.0}, Word.FAIL),
    ],
)
def test_each_parameter_of_the_usl_can_be_gated(
    parameter: str, bounds: dict[str, object], word: Word
) -> None:
    """Sigma 0.04 and kappa 0.005 have their largest speedup at sqrt(0.96 / 0.005) = 13.9 CPUs."""
    verdict = rule(usl(parameter, **bounds), arms(times(FIVE, 0.04, 0.005))).verdict
    assert verdict.outcome is word
    assert verdict.parameter == parameter


def test_a_row_without_a_peak_passes_any_least_peak() -> None:
    """JSON has no infinity, so the verdict's figure is null, and the sentence says inf."""
    verdict = rule(usl("peak", at_least=2.0), arms(times(FIVE, 0.05))).verdict
    assert verdict.outcome is Word.PASS
    assert verdict.high is None
    assert "inf]" in verdict.reason


@pytest.mark.parametrize("gate", [amdahl(0.5), usl("sigma", at_most=0.5), usl("kappa", at_most=0.5)])
def test_a_row_of_another_shape_never_passes(gate: Gate) -> None:
    """It gains at two CPUs, loses most of it at four, and stays there: every threshold is far away."""
    law = {1: 1e6, 2: 1e6 / 1.873, 4: 1e6 / 1.475, 8: 1e6 / 1.46, 16: 1e6 / 1.45}
    last = replace(POLICY, max_runs=5)
    verdict = rule(gate, arms(law), last).verdict
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "-shaped: smp" in verdict.reason
    assert "which noise does not explain" in verdict.reason


def test_a_bent_row_waits_for_the_next_look() -> None:
    bent = times(FOUR, 0.05) | {2: 1.1 * times((2,), 0.05)[2]}
    assert rule(amdahl(0.5), arms(bent)).needs


def test_one_arm_with_a_wrong_answer_makes_the_row_invalid() -> None:
    of = arms(times(FOUR, 0.05))
    of[1] = replace(of[1], invalid=("0007: the sum is wrong",))
    verdict = rule(amdahl(), of).verdict
    assert verdict.outcome is Word.INVALID
    assert "primes-linux-smp2" in verdict.reason


def test_one_impossible_arm_makes_the_row_invalid() -> None:
    of = times(FOUR, 0.05) | {4: 1e6 / 4.5}
    verdict = rule(amdahl(), arms(of)).verdict
    assert verdict.outcome is Word.INVALID
    assert "above 4.2, which is more than its CPUs allow" in verdict.reason


def test_oversubscribed_and_other_placements_are_in_no_fit() -> None:
    of = arms(times(FOUR, 0.05))
    for placement, word in ((Placement.OVERSUBSCRIBED, Word.SKIP), (Placement.SMT, Word.INVALID)):
        other = arm(cell(4), of[2].work.samples if of[2].work else (), placement=placement)
        assert rule(amdahl(), [*of[:2], other, of[3]]).verdict.outcome is word


def test_a_missing_arm_is_no_verdict() -> None:
    with pytest.raises(DecideError, match="there is no arm primes-linux-smp8"):
        rule(amdahl(), arms(times((1, 2, 4), 0.05)))
    few = [*arms(times((1, 2, 4), 0.05)), arm(cell(8))]
    assert rule(amdahl(), few).verdict.outcome is Word.SKIP


def test_a_host_that_does_not_scale_is_no_fault_of_the_guest() -> None:
    """Its own speedups have a serial share of 0.1, and the guest reaches them."""
    law = times(FOUR, 0.1)
    host = {n: CapacityBound(Lane.TCG, n, 1e6 / t, 1e6 / t, 1e6 / t) for n, t in law.items() if n > 1}
    verdict = rule(amdahl(0.06), arms(law), capacity=host).verdict
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "but the host's own capacity has serial 0.1" in verdict.reason
    good = {n: CapacityBound(Lane.TCG, n, n, n, n) for n in (2, 4, 8)}
    assert rule(amdahl(0.06), arms(law), capacity=good).verdict.outcome is Word.FAIL
    worse = rule(amdahl(0.06), arms(times(FOUR, 0.3)), capacity=host).verdict
    assert worse.outcome is Word.FAIL


def test_a_rate_is_fitted_as_the_reciprocal_of_a_time() -> None:
    rate = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "/s", of="requests")
    of = []
    for one in arms(times(FOUR, 0.05)):
        samples = [1e9 / sample for sample in (one.work.samples if one.work else ())]
        more = {**one.measurements, "rps": measurement(one.cell, samples, metric=rate, unit="/s")}
        of.append(replace(one, measurements=more))
    verdict = rule(amdahl(metric="rps"), of).verdict
    assert verdict.value == pytest.approx(0.05, rel=1e-3)


def test_the_delays_of_the_instruction_clock_widen_the_interval() -> None:
    of = [arm(cell(n), [time] * 5, lane=Lane.INSN, unit="insn") for n, time in times(FOUR, 0.05).items()]
    assert rule(amdahl(0.0501), of).verdict.outcome is Word.PASS
    late = []
    for one in of:
        blurred = {name: replace(each, blur=(0.01,) * 5) for name, each in one.measurements.items()}
        late.append(replace(one, measurements=blurred))
    assert rule(amdahl(0.0501), late).verdict.outcome is Word.INCONCLUSIVE


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (amdahl(settings=(("model", "amdal"),)), "model='amdal': did you mean `amdahl`"),
        (amdahl(settings=()), "use amdahl or usl"),
        (amdahl(counts=(1, 2)), r"amdahl needs 3 CPU counts, as in cpus=\(1, 2, 4\), not 2"),
        (usl("kappa", at_most=0.1, more=(cell(2), cell(4))), r"usl needs 5 CPU counts, .* not 4"),
        (usl("serial", at_most=0.1), "parameter='serial' is not one of sigma, kappa, peak"),
        (amdahl(counts=FIVE, settings=(("model", "usl"),)), "needs one of the parameters sigma, kappa, peak"),
        (amdahl(None), "takes either at_least or at_most"),
        (amdahl(1.0), "at_most=1 decides nothing: it must be above 0 and below 1"),
        (usl("peak", at_least=1.0), "at_least=1 decides nothing: it must be above 1"),
        (amdahl(more=(cell(4), cell(2))), "in the order of their CPU counts"),
        (amdahl(more=(cell(2, system="other"), cell(4))), "of one row"),
    ],
)
def test_a_gate_that_cannot_be_decided_is_refused(gate: Gate, said: str) -> None:
    with pytest.raises(DecideError, match=said):
        check(gate, WINDOWS["work"], POLICY)
