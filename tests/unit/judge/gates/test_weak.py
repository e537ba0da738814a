"""The gate on weak scaling. Equal runs have an interval of no width, so what is expected follows by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Cell, Lane, Window
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, CapacityBound, Gate, GateInput, Ruling, Word
from benchgate.base.runs import CpuUse, CpuWork
from benchgate.base.statistics.stats import Interval
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricDirection, MetricKind
from benchgate.judge.gates import check, judge
from tests.unit.factories import POLICY, arm, cell

RATE = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "requests/s", of="requests")
TIME = WINDOWS["work"]


def grown(cpus: int, by: int = 0) -> Cell:
    one = cell(cpus)
    by = by or cpus
    params = tuple((name, value * by if name == "hi" else value) for name, value in one.params)
    return one if by == 1 else replace(one, params=params, label=f"primes.hi-{dict(params)['hi']}")


def weak(at_least: float | None = 0.9, **changes: object) -> Gate:
    gate = Gate("g", "weak", cell(1), grown(4), "work", at_least, settings=(("grows", "hi"),))
    return replace(gate, **changes)  # type: ignore[arg-type]


def rule(gate: Gate, *arms: Arm, capacity: CapacityBound | None = None) -> Ruling:
    bounds = {capacity.cpus: capacity} if capacity else {}
    return judge(gate, GateInput({one.cell.id: one for one in arms}, POLICY, bounds))


def arms(base: float, four: float) -> tuple[Arm, Arm]:
    return arm(cell(1), [base] * 5), arm(grown(4), [four] * 5)


def busy(one: Arm, work: float) -> Arm:
    measurements = {name: replace(each, busy=(work,) * 5) for name, each in one.measurements.items()}
    return replace(one, measurements=measurements)


def test_it_is_the_time_of_the_base_over_that_of_the_cell() -> None:
    verdict = rule(weak(), *arms(950.0, 1000.0)).verdict
    assert (verdict.value, verdict.ratio, verdict.parameter) == (0.95, None, "weak efficiency")
    hi = dict(cell(1).params)["hi"]
    assert isinstance(hi, int)
    assert verdict.reason == (
        f"PASS: primes.hi-{4 * hi}-linux-smp4 over primes-linux-smp1 weak efficiency = 0.95 [0.95, 0.95] "
        ">= 0.9 (work, tcg, 5 runs per arm)"
    )


@pytest.mark.parametrize(
    ("changes", "base", "word"),
    [
        ({}, 900.0, Word.PASS),
        ({}, 890.0, Word.FAIL),
        ({}, 250.0, Word.FAIL),  # one CPU did all of the work
        ({"at_least": None, "at_most": 0.5}, 500.0, Word.PASS),
        ({"at_least": None, "at_most": 0.5}, 510.0, Word.FAIL),
        ({}, 1049.0, Word.PASS),
        ({}, 1060.0, Word.INVALID),  # faster, with four times the work
        ({}, 4000.0, Word.INVALID),  # the work did not grow
    ],
)
def test_what_decides(changes: dict[str, object], base: float, word: Word) -> None:
    gate = replace(weak(), **changes)  # type: ignore[arg-type]
    assert rule(gate, *arms(base, 1000.0)).verdict.outcome is word


@pytest.mark.parametrize(("cpus", "word"), [(1.0, Word.INVALID), (3.7, Word.INVALID), (4.0, Word.PASS)])
def test_work_that_grew_needs_the_cpus_too(cpus: float, word: Word) -> None:
    """Else a base that is slowed down makes one CPU look like four."""
    used = [CpuUse(Interval(many, many)) for many in (1.0, cpus)]
    pair = [
        replace(
            one,
            measurements={
                name: replace(each, cpu_work=(CpuWork({Window.WORK: use}),) * 5) for name, each in of.items()
            },
        )
        for one, use in zip(arms(1000.0, 1000.0), used, strict=True)
        for of in [one.measurements]
    ]
    verdict = rule(weak(), *pair).verdict
    assert verdict.outcome is word
    assert (f"only {cpus:.2f} CPUs were awake in its window" in verdict.reason) is (word is Word.INVALID)


@pytest.mark.parametrize(("work", "word"), [(4000.0, Word.PASS), (3820.0, Word.PASS), (3700.0, Word.INVALID)])
def test_work_that_did_not_grow_is_invalid(work: float, word: Word) -> None:
    base, four = arms(1000.0, 1000.0)
    verdict = rule(weak(), busy(base, 1000.0), busy(four, work)).verdict
    assert verdict.outcome is word
    if word is Word.INVALID:
        assert "but all workers together took only 3.7 times as long as in the base" in verdict.reason
        assert verdict.reason.endswith("name another parameter in `grows`")


def test_a_workload_that_grows_by_itself_has_one_row() -> None:
    gate = weak(cell=cell(4), settings=())
    verdict = rule(gate, arm(cell(1), [950.0] * 5), arm(cell(4), [1000.0] * 5)).verdict
    assert verdict.reason.startswith(
        "PASS: primes-linux smp4/smp1 weak efficiency = 0.95 [0.95, 0.95] >= 0.9"
    )


def test_a_rate_is_so_many_times_as_high() -> None:
    def measured(of: Cell, value: float) -> Arm:
        one = arm(of, [1000.0] * 5)
        work = one.measurements["work"]
        rates = replace(work, metric=RATE, samples=(value,) * 5, unit="requests/s")
        return replace(one, measurements={"work": work, "rps": rates})

    verdict = rule(weak(metric="rps"), measured(cell(1), 100.0), measured(grown(4), 380.0)).verdict
    assert verdict.outcome is Word.PASS
    assert verdict.value == pytest.approx(0.95)


def test_the_hosts_capacity_excuses() -> None:
    host = CapacityBound(Lane.TCG, 4, 2.9, 2.8, 3.0)
    assert rule(weak(), *arms(720.0, 1000.0), capacity=host).verdict.outcome is Word.INCONCLUSIVE
    assert rule(weak(), *arms(500.0, 1000.0), capacity=host).verdict.outcome is Word.FAIL


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        (weak(cell=grown(4, by=3)), "only hi may differ"),
        (weak(cell=cell(4)), "only hi may differ"),
        (weak(settings=()), "does not do so many times the work"),
        (weak(settings=(("grows", "split"),)), "only split may differ"),
        (weak(settings=(("grows", "none"),)), "only none may differ"),
        (weak(cell=replace(grown(4), system="kernel")), "only hi may differ"),
        (weak(cell=grown(3), base=cell(2)), "only hi may differ"),
        (weak(base=cell(4)), "only hi may differ"),
        (weak(at_least=0.25), "at_least=0.25 decides nothing: the weak efficiency of 4 CPUs is between 0.25"),
        (weak(at_least=1.05), "at_least=1.05 decides nothing"),
        (weak(at_least=None), "takes either at_least or at_most"),
    ],
)
def test_a_gate_that_can_never_decide_is_refused(gate: Gate, message: str) -> None:
    with pytest.raises(DecideError, match=message):
        check(gate, TIME, POLICY)


def test_a_metric_without_a_limit_is_refused() -> None:
    with pytest.raises(DecideError, match="has no weak efficiency"):
        check(weak(), replace(RATE, per="seconds"), POLICY)
