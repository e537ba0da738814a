"""The overhead gate: total over work, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Ruling, Word
from benchgate.base.workload.metrics import WINDOWS
from benchgate.judge.gates import check, judge
from tests.unit.factories import POLICY, arm, cell


def overhead(at_most: float | None = 1.1, **changes: object) -> Gate:
    gate = Gate("primes-linux-smp4-overhead", "overhead", None, cell(4), "work", None, at_most)
    return replace(gate, **changes)  # type: ignore[arg-type]


def rule(gate: Gate, one: Arm) -> Ruling:
    return judge(gate, GateInput({one.cell.id: one}, POLICY, {}))


def measured(shares: Sequence[float], works: Sequence[float] = (1000, 2000, 1500, 1200, 1100)) -> Arm:
    """Runs of very different lengths: each has its own ratio."""
    return arm(cell(4), works, total=[work * share for work, share in zip(works, shares, strict=True)])


def test_it_is_the_median_of_each_runs_own_ratio() -> None:
    verdict = rule(overhead(), measured((1.05, 1.06, 1.04, 1.07, 1.08))).verdict
    assert (
        verdict.reason == "PASS: primes-linux-smp4 total/work = 1.06 [1.04, 1.08] <= 1.1 (work, tcg, 5 runs)"
    )
    assert (verdict.value, verdict.low, verdict.high) == pytest.approx((1.06, 1.04, 1.08))
    assert (verdict.ratio, verdict.base_cpus, verdict.parameter) == (None, None, "total/work")


@pytest.mark.parametrize(
    ("changes", "share", "word"),
    [
        ({}, 1.0999, Word.PASS),
        ({}, 1.1001, Word.FAIL),
        ({"at_most": None, "at_least": 1.1}, 1.1001, Word.PASS),
        ({"at_most": None, "at_least": 1.1}, 1.0999, Word.FAIL),
    ],
)
def test_the_interval_is_on_one_side(changes: dict[str, object], share: float, word: Word) -> None:
    gate = replace(overhead(), **changes)  # type: ignore[arg-type]
    assert rule(gate, measured((share,) * 5)).verdict.outcome is word


def test_it_is_open_while_the_threshold_is_inside_the_interval() -> None:
    ruling = rule(overhead(), measured((1.05, 1.12, 1.08, 1.09, 1.11)))
    assert ruling.verdict.outcome is Word.INCONCLUSIVE
    assert dict(ruling.needs) == {"primes-linux-smp4": 9}


def test_steps_of_printed_figures_widen_the_interval() -> None:
    one = measured((1.09,) * 5)
    steps = {name: replace(of, step=20.0) for name, of in one.measurements.items()}
    assert rule(overhead(), one).verdict.outcome is Word.PASS
    assert rule(overhead(), replace(one, measurements=steps)).verdict.outcome is Word.INCONCLUSIVE


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (overhead(1.0), r"at_most=1 decides nothing: the total is never shorter"),
        (overhead(insn=0.9), "insn=0.9 decides nothing"),
        (overhead(None), "takes either at_least or at_most"),
        (overhead(base=cell(1)), "takes one cell and no base"),
    ],
)
def test_a_gate_that_decides_nothing_is_refused(gate: Gate, said: str) -> None:
    with pytest.raises(DecideError, match=said):
        check(gate, WINDOWS["work"], POLICY)
