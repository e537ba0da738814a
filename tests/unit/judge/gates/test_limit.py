"""The limit gate. Five equal runs have an interval of no width, so what is expected follows by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling, Word
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind, SeenBy
from benchgate.judge.gates import check, judge
from tests.unit.factories import POLICY, arm, cell, measurement

P99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)


def limit(**changes: object) -> Gate:
    gate = Gate("pipe", "limit", None, cell(2), "wake_p99", None, 900.0)
    return replace(gate, **changes)  # type: ignore[arg-type]


def measured(samples: Sequence[float], lane: Lane = Lane.TCG, late: float = 0.0) -> Arm:
    one = measurement(cell(2), samples, metric=P99, lane=lane)
    one = replace(one, blur=(late,) * len(samples))
    bare = arm(cell(2), [100.0] * len(samples), lane=lane)
    return replace(bare, measurements={**bare.measurements, "wake_p99": one}, sample="runs/0001-pipe")


def rule(of: Arm, gate: Gate | None = None, policy: Policy = POLICY) -> Ruling:
    return judge(gate or limit(), GateInput({of.cell.id: of}, policy, {}))


def test_pass_has_the_figure_its_interval_and_its_unit() -> None:
    verdict = rule(measured([880, 890, 895, 870, 860])).verdict
    assert verdict.reason == (
        "PASS: primes-linux-smp2 wake_p99 = 880.0 [860.0, 895.0] ns <= 900 ns (wake_p99, tcg, 5 runs)"
    )
    assert (verdict.value, verdict.low, verdict.high, verdict.unit) == (880, 860, 895, "ns")
    assert (verdict.ratio, verdict.base_cpus, verdict.metric, verdict.runs) == (None, None, "wake_p99", 5)


def test_a_median_of_0_is_in_the_unit_of_its_interval() -> None:
    verdict = rule(measured([0, 0, 0, 0, 3_984]), limit(at_most=500_000.0)).verdict
    assert "= 0.000 [0.000, 3.984] us <= 500 us" in verdict.reason


def test_fail_names_the_figure_and_what_to_read() -> None:
    verdict = rule(measured([950, 910, 920, 930, 940])).verdict
    assert verdict.outcome is Word.FAIL
    assert "= 930.0 [910.0, 950.0] ns > 900 ns" in verdict.reason
    assert "next: --measure shows where the time goes; metrics.csv has all runs' figures" in verdict.reason
    assert verdict.commands == ()


def test_a_fail_on_the_instruction_clock_names_a_command_that_shows_something() -> None:
    """It named serial.log, which says nothing of a window."""
    exact = rule(measured([950, 910, 920, 930, 940], Lane.INSN)).verdict
    assert exact.commands == ("benchgate replay runs/0001-pipe --profile",)
    assert f"; next: {exact.commands[0]} shows where the time goes" in exact.reason
    assert "serial.log" not in exact.reason


def test_the_subject_of_a_sentence_is_said_once() -> None:
    """`X-smp2: X-smp2: 1 of 5 runs not verified: 0003-X-smp2: ...`."""
    broken = replace(measured([880.0] * 4), invalid=("run 0003: a worker lies",), attempted=5)
    assert rule(broken).verdict.reason.startswith(
        "INVALID: primes-linux-smp2: 1 of 5 runs not verified: run 0003: a worker lies; next: "
    )
    skipped = rule(replace(broken, invalid=(), skipped="no CPU")).verdict
    assert skipped.reason == "SKIP: primes-linux-smp2: was not run: no CPU"


def test_what_a_guest_printed_advises_nothing() -> None:
    lie = "run 0003: wrong; next: \x1frm -r x\x1f `rm -r x`"
    verdict = rule(replace(measured([880.0] * 4), invalid=(lie,), attempted=5)).verdict
    assert (verdict.commands, verdict.reason.count("; next: ")) == ((), 1)


def test_runs_that_differ_much_have_no_smallest_effect_in_percent() -> None:
    """`smallest effect 6430%`."""
    verdict = rule(measured([880, 890, 895, 870, 860])).verdict
    assert "factor" not in replace(verdict, smallest_effect=0.999).sentence
    assert replace(verdict, smallest_effect=64.3).sentence.endswith(
        "; no effect below a factor of 65 can be seen"
    )


@pytest.mark.parametrize(
    ("changes", "figure", "word"),
    [
        ({}, 900.0, Word.PASS),
        ({}, 900.5, Word.FAIL),
        ({"at_most": None, "at_least": 900.0}, 900.0, Word.PASS),
        ({"at_most": None, "at_least": 900.0}, 899.5, Word.FAIL),
        ({"at_most": 0.0}, 0.0, Word.PASS),
        ({"at_most": 0.0}, 1.0, Word.FAIL),
    ],
)
def test_the_threshold_itself_is_allowed(changes: dict[str, object], figure: float, word: Word) -> None:
    assert rule(measured([figure] * 5), limit(**changes)).verdict.outcome is word


def test_a_threshold_inside_the_interval_needs_the_next_look() -> None:
    ruling = rule(measured([880, 910, 890, 920, 905]))
    assert ruling.verdict.outcome is Word.INCONCLUSIVE
    assert ruling.needs == {"primes-linux-smp2": 9}


def test_nine_runs_allow_one_on_the_wrong_side() -> None:
    assert rule(measured([880, 990, 890, 870, 860, 850, 840, 895, 865])).verdict.outcome is Word.PASS
    two = rule(measured([880, 990, 890, 991, 860, 850, 840, 895, 865]))
    assert two.verdict.outcome is Word.INCONCLUSIVE


def test_later_runs_do_not_change_a_verdict() -> None:
    assert rule(measured([800] * 5 + [2000] * 4)).verdict.outcome is Word.PASS


def test_its_own_threshold_applies_on_the_instruction_clock() -> None:
    gate = limit(insn=700.0)
    assert rule(measured([800] * 5, Lane.INSN), gate).verdict.outcome is Word.FAIL
    assert rule(measured([800] * 5), gate).verdict.outcome is Word.PASS


@pytest.mark.parametrize(("late", "word"), [(0.10, Word.PASS), (0.15, Word.INCONCLUSIVE)])
def test_no_verdict_on_a_difference_that_the_clock_cannot_resolve(late: float, word: Word) -> None:
    """800 is 12.5% below 900."""
    assert rule(measured([800] * 5, Lane.INSN, late)).verdict.outcome is word


def test_a_broken_arm_is_invalid_and_a_skipped_one_skips() -> None:
    broken = replace(measured([800] * 5), invalid=("0003: wrong answer",))
    assert rule(broken).verdict.outcome is Word.INVALID
    skipped = rule(Arm(cell(2), skipped="it lacks the service park")).verdict
    assert (skipped.outcome, "park" in skipped.reason) == (Word.SKIP, True)


def test_too_few_runs_and_oversubscription_decide_nothing() -> None:
    assert rule(measured([800] * 4)).verdict.outcome is Word.SKIP
    many = arm(cell(2), [100.0] * 5, placement=Placement.OVERSUBSCRIBED)
    assert "functional only" in rule(many, limit(metric="work")).verdict.reason


def test_where_figures_only_inform_the_gate_skips_and_shows_them() -> None:
    verdict = rule(measured([950] * 5), policy=replace(POLICY, informs="other clock", shows=True)).verdict
    assert (verdict.outcome, verdict.value) == (Word.SKIP, 950)
    assert "> 900" in verdict.reason


@pytest.mark.parametrize("change", [{"base": cell(1)}, {"at_least": 1.0}, {"at_most": None}])
def test_an_invalid_gate_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(DecideError):
        check(limit(**change), P99, POLICY)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(DecideError, match="too few samples of rps"):
        rule(measured([800] * 5), limit(metric="rps"))


def test_a_metric_that_every_run_skipped_is_not_decided() -> None:
    bare = measured([880.0] * 5)
    without = {name: value for name, value in bare.measurements.items() if name != "wake_p99"}
    verdict = rule(replace(bare, measurements=without, lacks={"wake_p99": "no clock"})).verdict
    assert verdict.outcome is Word.SKIP
    assert "primes-linux-smp2: the guest skipped wake_p99: no clock" in verdict.reason


def test_a_metric_without_a_value_in_a_run_is_invalid_and_another_one_is_decided() -> None:
    bare = measured([880.0] * 5)
    without = {name: value for name, value in bare.measurements.items() if name != "wake_p99"}
    why = "1 of 5 runs without a value: run 0003: its histogram `wake` is empty"
    asked = replace(bare, measurements=without, absent={"wake_p99": why})
    verdict = rule(asked).verdict
    assert verdict.outcome is Word.INVALID
    assert f"INVALID: primes-linux-smp2: has no wake_p99: {why}" in verdict.reason
    assert rule(asked, limit(metric="work", at_most=10_000.0)).verdict.outcome is Word.PASS


@pytest.mark.parametrize(
    ("unit", "hz", "word"),
    [
        ("ns", (), Word.FAIL),
        ("insn", (), Word.FAIL),
        ("cycles", (2_000_000_000,) * 5, Word.PASS),
        ("cycles", (), Word.INVALID),
    ],
)
def test_a_length_of_time_is_compared_in_ns(unit: str, hz: tuple[int, ...], word: Word) -> None:
    """1,600 cycles of 2 GHz are 800 ns."""
    of = measured([1600.0] * 5)
    timed = replace(of.measurements["wake_p99"], unit=unit, hz=hz)
    gate = limit(settings=(("unit", "ns"),))
    verdict = rule(replace(of, measurements={**of.measurements, "wake_p99": timed}), gate).verdict
    assert verdict.outcome is word, verdict.reason
    if unit == "insn":  # whoever wrote 900ns reads ns
        assert "= 1.600 [1.600, 1.600] us > 900 ns" in verdict.reason


LOST = Metric("lost", MetricKind.SHARE, MetricDirection.LESS, "share", of="lost")


@pytest.mark.parametrize(
    ("metric", "change"),
    [
        (LOST, {"at_most": 5.0}),  # 500%: meant were 5%
        (LOST, {"at_most": 1.0}),
        (LOST, {"at_most": None, "at_least": 1.01}),
        (LOST, {"at_most": None, "at_least": 0.0}),
        (P99, {"at_most": None, "at_least": 0.0}),
        (LOST, {"insn": 2.0}),
    ],
)
def test_a_limit_that_no_figure_or_every_figure_keeps_is_refused(
    metric: Metric, change: dict[str, object]
) -> None:
    with pytest.raises(DecideError, match="decides nothing"):
        check(limit(**{"at_most": 0.5, **change}, metric=metric.name), metric, POLICY)


@pytest.mark.parametrize("change", [{"at_most": 0.0}, {"at_most": 0.05}, {"at_most": None, "at_least": 1.0}])
def test_a_share_from_0_to_1_is_a_limit(change: dict[str, object]) -> None:
    check(limit(**{"at_most": 0.5, **change}, metric="lost"), LOST, POLICY)


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ({"wake_p99": SeenBy.GUEST}, "; wake_p99 is claimed by the guest"),
        ({"wake_p99": SeenBy.BOTH}, "; wake_p99 is claimed by the guest, within what the machine saw"),
        ({"wake_p50": SeenBy.GUEST}, ""),
        ({}, ""),
    ],
)
def test_a_gate_says_that_its_figure_is_only_claimed(who: dict[str, SeenBy], words: str) -> None:
    for sample, word in ((880.0, Word.PASS), (950.0, Word.FAIL)):
        plain = measured([sample] * 5, Lane.INSN)
        verdict, before = rule(replace(plain, claimed=who)).verdict, rule(plain).verdict
        assert verdict.outcome is word
        what, then, advice = before.reason.partition("; next: ")
        assert verdict.reason == f"{what}{words}{then}{advice}"


def test_a_gate_without_a_figure_claims_nothing() -> None:
    of = replace(measured([880.0] * 5, Lane.INSN), claimed={"wake_p99": SeenBy.GUEST})
    assert "claimed" not in rule(replace(of, invalid=("0001: wrong",))).verdict.reason
    gate = Gate("pipe", "verified", None, cell(2), "wake_p99")
    assert "claimed" not in rule(of, gate).verdict.reason
