"""The gate on idle CPUs. Five equal runs have an interval of no width, so what is expected follows by
hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Ruling, Word
from benchgate.base.workload.metrics import OF_THREADS
from benchgate.insn.arguments import QUANTUM
from benchgate.judge.gates import check, judge
from tests.unit.factories import POLICY, arm, cell, measurement

INSN = {"lane": Lane.INSN, "placement": Placement.VIRTUAL}


def gate(at_most: float = 0.005, longest: str = "1ms") -> Gate:
    settings = (("longest", longest),) if longest else ()
    return Gate("g", "work_conserving", None, cell(2), "wasted", None, at_most, settings=settings)


def measured(
    share: float, longest: float, runs: int = 5, settling: float | None = None, held: float | None = None
) -> Arm:
    values = {"wasted": share, "wasted_longest": longest}
    values |= {} if held is None else {"held": held}
    values |= {} if settling is None else {"settling": settling}
    ours = {
        name: replace(
            measurement(cell(2), [value] * runs, metric=OF_THREADS[name], unit=OF_THREADS[name].unit, **INSN),  # type: ignore[arg-type]
            blur=(0.0,) * runs,
        )
        for name, value in values.items()
    }
    bare = arm(cell(2), [100.0] * runs, **INSN)  # type: ignore[arg-type]
    return replace(bare, measurements={**bare.measurements, **ours}, sample="runs/0001-primes")


def rule(of: Arm, asked: Gate | None = None) -> Ruling:
    return judge(asked or gate(), GateInput({of.cell.id: of}, POLICY, {}))


def test_a_pass_needs_both_and_names_both() -> None:
    verdict = rule(measured(0.004, 900_000.0)).verdict
    assert verdict.outcome is Word.PASS
    assert "wasted = 0.40 [0.40, 0.40]% <= 0.5%" in verdict.reason
    assert "wasted_longest = 900.0 [900.0, 900.0] us <= 1 ms" in verdict.reason
    assert (verdict.metric, verdict.value, verdict.threshold) == ("wasted", 0.004, 0.005)


@pytest.mark.parametrize(
    ("share", "longest", "metric", "figure"),
    [
        (0.006, 900_000.0, "wasted", "0.60 [0.60, 0.60]% > 0.5%"),
        (0.004, 1_100_000.0, "wasted_longest", "1.100 [1.100, 1.100] ms > 1 ms"),
        (0.006, 1_100_000.0, "wasted", "0.60 [0.60, 0.60]% > 0.5%"),
    ],
)
def test_either_fails_and_says_where_to_look(share: float, longest: float, metric: str, figure: str) -> None:
    verdict = rule(measured(share, longest)).verdict
    assert (verdict.outcome, verdict.metric) == (Word.FAIL, metric)
    assert figure in verdict.reason
    assert "next: benchgate threads runs/0001-primes" in verdict.reason


def test_what_is_excused_has_a_limit_of_its_own() -> None:
    late = measured(0.0, 0.0, settling=8_100.0)
    verdict = rule(late).verdict
    assert (verdict.outcome, verdict.metric) == (Word.FAIL, "settling")
    assert "settling = 8.100 [8.100, 8.100] us > 8 us" in verdict.reason
    wide = (("settling", "9us"),)
    assert rule(late, replace(gate(), settings=wide)).verdict.outcome is Word.PASS
    none = replace(gate(), settings=(("settling", "0ns"),))
    assert rule(measured(0.0, 0.0, settling=0.0), none).verdict.outcome is Word.PASS
    assert rule(measured(0.0, 0.0, settling=10.0), none).verdict.outcome is Word.FAIL
    assert "settling = 7.900 " in rule(measured(0.0, 0.0, settling=7_900.0)).verdict.reason


@pytest.mark.parametrize(
    ("settling", "step", "due"),
    [
        (3_300.0, 5_000.0, 'next: set settling="9us", the shortest that can be told here'),
        (300.0, 40_000.0, "next: use `pause`"),  # each thread settles for 10 us at most: no limit could fail
    ],
)
def test_a_settling_that_is_not_resolved_names_a_limit_that_is(
    settling: float, step: float, due: str
) -> None:
    of = measured(0.0, 0.0, settling=settling)
    blurred = replace(of.measurements["settling"], blur=(step / settling,) * 5)
    of = replace(of, measurements={**of.measurements, "settling": blurred})
    verdict = rule(of).verdict
    assert verdict.outcome is Word.INCONCLUSIVE
    assert due in verdict.reason
    if step < 10_000:
        assert rule(of, replace(gate(), settings=(("settling", "9us"),))).verdict.outcome is Word.PASS


@pytest.mark.parametrize("settling", [400.0, 1_700.0])
def test_the_limit_that_is_not_asked_for_can_be_told_with_the_clocks_quantum(settling: float) -> None:
    """Of tern and of Linux. One below what the clock tells would decide nothing."""
    of = measured(0.0, 0.0, settling=settling)
    blurred = replace(of.measurements["settling"], blur=(QUANTUM / settling,) * 5)
    verdict = rule(replace(of, measurements={**of.measurements, "settling": blurred})).verdict
    assert verdict.outcome is Word.PASS, verdict.reason


def test_a_cpu_in_the_kernel_has_a_limit_of_its_own() -> None:
    spins = measured(0.0, 0.0, held=0.201)
    verdict = rule(spins).verdict
    assert (verdict.outcome, verdict.metric) == (Word.FAIL, "held")
    assert "held = 20.10 [20.10, 20.10]% > 20%" in verdict.reason
    assert rule(spins, replace(gate(), settings=(("held", "0.3"),))).verdict.outcome is Word.PASS
    assert "held = 19.90 " in rule(measured(0.0, 0.0, held=0.199)).verdict.reason
    none = replace(gate(), settings=(("held", "0"),))
    assert rule(measured(0.0, 0.0, held=0.0), none).verdict.outcome is Word.PASS
    assert rule(measured(0.0, 0.0, held=0.001), none).verdict.outcome is Word.FAIL


def test_the_thresholds_themselves_pass() -> None:
    assert rule(measured(0.005, 1_000_000.0)).verdict.outcome is Word.PASS
    assert rule(measured(0.0, 0.0), gate(at_most=0.0, longest="0ns")).verdict.outcome is Word.PASS


def test_without_longest_only_the_share_decides() -> None:
    assert rule(measured(0.004, 1e9), gate(longest="")).verdict.outcome is Word.PASS


def test_more_runs_are_asked_for_before_the_first_look() -> None:
    ruling = rule(measured(0.004, 900_000.0, runs=3))
    assert ruling.verdict.outcome is Word.SKIP
    assert ruling.needs == {cell(2).id: 5}


def test_where_no_threads_are_seen_it_is_a_skip_with_the_reason() -> None:
    seen = replace(arm(cell(2), [100.0] * 5), lacks={"wasted": "this is lane tcg"})
    verdict = rule(seen).verdict
    assert verdict.outcome is Word.SKIP
    assert "wasted is not known: this is lane tcg" in verdict.reason


@pytest.mark.parametrize(
    "wrong",
    [
        {"at_most": 1.0},
        {"at_most": None},
        {"at_most": None, "at_least": 0.1},
        {"base": cell(1)},
        {"settings": (("longest", "1  ms"),)},
        {"settings": (("longest", "1min"),)},
        {"settings": (("settling", "5"),)},
        {"settings": (("held", "10%"),)},
        {"settings": (("held", "1.5"),)},
        {"settings": (("held", "nan"),)},
    ],
)
def test_a_gate_that_decides_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DecideError):
        check(replace(gate(), **wrong), OF_THREADS["wasted"], POLICY)  # type: ignore[arg-type]
    check(gate(), OF_THREADS["wasted"], POLICY)
