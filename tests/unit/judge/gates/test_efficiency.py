"""The efficiency gate. Equal runs have an interval of no width, so what is expected follows by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, CapacityBound, Gate, GateInput, Ruling, Word
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricDirection, MetricKind
from benchgate.judge.gates import check, judge
from tests.unit.factories import POLICY, arm, cell


def efficiency(at_least: float | None = 0.8, **changes: object) -> Gate:
    gate = Gate("primes-linux-smp4-efficiency", "efficiency", cell(1), cell(4), "work", at_least)
    return replace(gate, **changes)  # type: ignore[arg-type]


def rule(gate: Gate, *arms: Arm, capacity: CapacityBound | None = None) -> Ruling:
    bounds = {capacity.cpus: capacity} if capacity else {}
    return judge(gate, GateInput({one.cell.id: one for one in arms}, POLICY, bounds))


def row(speedup: float, spread: Sequence[float] = (1, 1, 1, 1, 1)) -> tuple[Arm, Arm]:
    return arm(cell(1), [speedup * 1000.0] * 5), arm(cell(4), [1000.0 * by for by in spread])


def test_it_is_the_speedup_over_the_cpus() -> None:
    verdict = rule(efficiency(), *row(3.6, (0.98, 0.99, 1.0, 1.01, 1.02))).verdict
    assert (verdict.value, verdict.ratio, verdict.parameter, verdict.unit) == (0.9, None, "efficiency", "")
    assert (verdict.low, verdict.high) == pytest.approx((0.9 / 1.02, 0.9 / 0.98))
    assert verdict.reason == (
        "PASS: primes-linux smp4/smp1 efficiency = 0.90 [0.88, 0.92] >= 0.8 (work, tcg, 5 runs per arm)"
    )
    assert (verdict.base_cpus, verdict.cpus, verdict.threshold) == (1, 4, 0.8)


@pytest.mark.parametrize(
    ("changes", "speedup", "word"),
    [
        ({}, 3.2, Word.PASS),
        ({}, 3.1, Word.FAIL),
        ({"at_least": None, "at_most": 0.8}, 3.2, Word.PASS),
        ({"at_least": None, "at_most": 0.8}, 3.3, Word.FAIL),
        ({"at_least": 0.2}, 1.0, Word.PASS),
    ],
)
def test_the_threshold_is_of_the_efficiency(changes: dict[str, object], speedup: float, word: Word) -> None:
    gate = replace(efficiency(), **changes)  # type: ignore[arg-type]
    assert rule(gate, *row(speedup)).verdict.outcome is word


def test_the_base_need_not_be_one_cpu() -> None:
    arms = arm(cell(2), [1800.0] * 5), arm(cell(4), [1000.0] * 5)
    assert rule(efficiency(base=cell(2)), *arms).verdict.value == pytest.approx(0.9)


def test_more_than_the_cpus_allow_is_invalid() -> None:
    verdict = rule(efficiency(), *row(4.4)).verdict
    assert verdict.outcome is Word.INVALID
    assert "more than its CPUs allow" in verdict.reason


def test_the_host_may_be_the_reason_of_a_fail() -> None:
    host = CapacityBound(Lane.TCG, 4, 3.0, 2.9, 3.1)
    verdict = rule(efficiency(), *row(2.9), capacity=host).verdict
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "but the host's own capacity is 0.75 [0.72, 0.78]" in verdict.reason
    lame = rule(efficiency(), *row(2.5), capacity=host).verdict  # less than nine tenths of 3.0
    assert lame.outcome is Word.FAIL


def test_more_vcpus_than_pins_are_never_gated() -> None:
    base, four = row(3.6)
    verdict = rule(efficiency(), base, replace_placement(four)).verdict
    assert verdict.outcome is Word.SKIP


def replace_placement(of: Arm) -> Arm:
    return arm(of.cell, [1000.0] * 5, placement=Placement.OVERSUBSCRIBED)


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (
            efficiency(1.05),
            r"at_least=1\.05 decides nothing: the efficiency of 4 CPUs is between 0\.0625 and",
        ),
        (efficiency(0.06), r"at_least=0\.06 decides nothing"),
        (efficiency(insn=2.0), r"insn=2 decides nothing"),
        (efficiency(at_most=0.9), "takes either at_least or at_most"),
        (efficiency(base=None), "needs a base"),
        (efficiency(base=cell(8)), "not a speedup"),
    ],
)
def test_a_gate_that_decides_nothing_is_refused(gate: Gate, said: str) -> None:
    with pytest.raises(DecideError, match=said):
        check(gate, WINDOWS["work"], POLICY)


def test_a_metric_that_cpus_do_not_limit_has_no_efficiency() -> None:
    p99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)
    with pytest.raises(DecideError, match="wake_p99 can improve more than its CPUs allow"):
        check(efficiency(), p99, POLICY)
