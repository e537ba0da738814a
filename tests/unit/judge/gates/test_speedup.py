"""The speedup gate: every word it can say, and the order in which it says them.

Arms have no noise here unless a test gives them some: then the interval is the ratio itself, and what
is expected follows by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, CapacityBound, GateInput, Policy, Ruling, Word
from benchgate.base.runs import CpuWork
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricDirection, MetricKind
from benchgate.judge import gates
from benchgate.judge.gates import judge
from tests.unit.factories import POLICY, arm, cell, measurement, speedup


def rule(
    *arms: Arm, policy: Policy = POLICY, capacity: CapacityBound | None = None, at_least: float = 1.6
) -> Ruling:
    bounds = {capacity.cpus: capacity} if capacity else {}
    return judge(speedup(at_least=at_least), GateInput({one.cell.id: one for one in arms}, policy, bounds))


def pair(base: Sequence[float], other: Sequence[float], lane: Lane = Lane.TCG) -> tuple[Arm, Arm]:
    return arm(cell(1), base, lane=lane), arm(cell(2), other, lane=lane)


def flat(speedup_seen: float, runs: int = 5, lane: Lane = Lane.TCG) -> tuple[Arm, Arm]:
    return pair([speedup_seen * 1000] * runs, [1000.0] * runs, lane)


def test_pass_if_the_interval_is_above_the_threshold() -> None:
    ruling = rule(*pair([190, 191, 192, 193, 194], [100, 100, 100, 100, 100]))
    assert ruling.verdict.outcome is Word.PASS
    assert ruling.verdict.reason == (
        "PASS: primes-linux smp2/smp1 = 1.92 [1.90, 1.94] > 1.6 (work, tcg, 5 runs per arm)"
    )
    assert (ruling.verdict.ratio, ruling.verdict.low, ruling.verdict.high) == (1.92, 1.90, 1.94)
    assert (ruling.verdict.base_cpus, ruling.verdict.cpus, ruling.verdict.runs) == (1, 2, 5)
    assert (ruling.verdict.threshold, ruling.verdict.lane) == (1.6, Lane.TCG)
    assert not ruling.needs


def test_fail_has_the_figures_and_the_next_step_in_one_line() -> None:
    ruling = rule(*pair([141, 142, 143, 144, 146], [100, 100, 100, 100, 100]))
    assert ruling.verdict.outcome is Word.FAIL
    assert ruling.verdict.reason.startswith("FAIL: primes-linux smp2/smp1 = 1.43 [1.41, 1.46] < 1.6 (work")
    assert "; next: --measure" in ruling.verdict.reason
    assert "\n" not in ruling.verdict.reason


def test_fail_on_the_instruction_clock_names_the_command_with_a_run_of_its_arm() -> None:
    base, two = (arm(cell(n), [100.0] * 5, lane=Lane.INSN, unit="insn") for n in (1, 2))
    two = replace(two, sample="runs/0007-primes-linux-smp2")
    reason = rule(base, two).verdict.reason
    assert "; next: benchgate replay runs/0007-primes-linux-smp2 --profile shows where" in reason
    assert reason.endswith(" where the time goes; metrics.csv has all runs' figures")


def test_a_ratio_at_the_threshold_is_not_above_it() -> None:
    ruling = rule(*flat(1.6))
    assert ruling.verdict.outcome is Word.FAIL
    assert "= 1.60 [1.60, 1.60] <= 1.6 " in ruling.verdict.reason


def test_digits_are_added_until_the_side_of_the_threshold_shows() -> None:
    ruling = rule(*pair([16002, 16003, 16004, 16004, 16005], [10000.0] * 5))
    assert "= 1.6004 [1.6002, 1.6005] > 1.6 " in ruling.verdict.reason


def test_an_undecided_gate_needs_the_next_look_of_both_arms() -> None:
    noisy = pair([150, 155, 161, 165, 170], [100] * 5)
    ruling = rule(*noisy)
    assert ruling.needs == {"primes-linux-smp1": 9, "primes-linux-smp2": 9}
    assert ruling.verdict.outcome is Word.INCONCLUSIVE


def test_inconclusive_at_the_maximum_names_the_option_for_more_runs() -> None:
    ruling = rule(*pair([150, 155, 161, 165, 170], [100] * 5), policy=replace(POLICY, max_runs=5))
    assert ruling.verdict.outcome is Word.INCONCLUSIVE
    assert not ruling.needs
    assert ruling.verdict.reason == (
        "INCONCLUSIVE: primes-linux smp2/smp1 = 1.61 [1.50, 1.70], and 1.6 is inside the interval "
        "(work, tcg, 5 runs per arm); next: --max-runs 9"
    )


def test_a_sweep_that_ended_at_another_arms_fault_says_so() -> None:
    broken = replace(arm(cell(4), []), attempted=1, invalid=("run 11: wrong answer",))
    verdict = rule(*pair([150, 155, 161, 165, 170], [100] * 5), broken).verdict
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "the sweep ended at primes-linux-smp4: 1 of 1 run not verified" in verdict.reason


def test_inconclusive_at_the_last_look_does_not_offer_more_runs() -> None:
    ruling = rule(*pair([150.0, *[170.0, 150.0] * 12], [100] * 25))
    assert ruling.verdict.outcome is Word.INCONCLUSIVE
    assert not ruling.needs
    assert "--max-runs" not in ruling.verdict.reason
    assert "quieter host" in ruling.verdict.reason


def test_a_later_look_uses_all_its_runs() -> None:
    base = [150, 155, 161, 165, 170, 170, 171, 172, 173]
    ruling = rule(*pair([*base[:5], *[175] * 4], [100] * 9))
    assert ruling.verdict.runs == 9
    earlier = rule(*pair(base[:5], [100] * 5))
    assert earlier.verdict.runs == 5


def test_later_runs_do_not_change_an_early_verdict() -> None:
    ruling = rule(*pair([192] * 5 + [100] * 20, [100] * 25))
    assert ruling.verdict.outcome is Word.PASS
    assert ruling.verdict.runs == 5


def test_a_look_uses_the_same_number_of_runs_of_both_arms() -> None:
    ruling = rule(*pair([192] * 9, [100] * 4))
    assert ruling.needs == {"primes-linux-smp1": 5, "primes-linux-smp2": 5}
    assert ruling.verdict.runs == 4


@pytest.mark.parametrize("runs", [0, 1, 4])
def test_fewer_runs_than_the_first_look_decide_nothing(runs: int) -> None:
    ruling = rule(*flat(1.9, runs))
    assert ruling.verdict.outcome is Word.SKIP
    noun = "1 run per arm decides" if runs == 1 else f"{runs} runs per arm decide"
    ended = f"{noun} nothing; at least 5 are needed, and the session ended before; next: --resume"
    assert ended in ruling.verdict.reason
    assert ruling.verdict.ratio is None
    assert ruling.needs == {"primes-linux-smp1": 5, "primes-linux-smp2": 5}


def test_a_session_of_one_run_decides_nothing() -> None:
    quick = POLICY.with_runs(1, None)
    assert rule(arm(cell(1)), arm(cell(2)), policy=quick).needs == {
        "primes-linux-smp1": 1,
        "primes-linux-smp2": 1,
    }
    done = rule(*flat(1.9, 1), policy=quick)
    assert done.verdict.outcome is Word.SKIP
    assert re.search("1 run per arm decides nothing; .* 5 .*; next: --runs 5$", done.verdict.reason)
    assert not done.needs


def test_more_runs_do_not_decide_in_a_session_of_one_run() -> None:
    assert rule(*flat(1.9, 25), policy=POLICY.with_runs(1, 25)).verdict.outcome is Word.SKIP


@pytest.mark.parametrize("broken", [1, 2])
def test_one_invalid_run_makes_the_gate_invalid(broken: int) -> None:
    arms = [replace(one, attempted=6) for one in flat(1.9)]
    arms[broken - 1] = replace(arms[broken - 1], invalid=("worker 1 reports a wrong\nchecksum",))
    ruling = rule(*arms)
    assert ruling.verdict.outcome is Word.INVALID
    assert re.search(
        rf"primes-linux-smp{broken}: 1 of 6 .*: worker 1 reports a wrong checksum; next: ",
        ruling.verdict.reason,
    )
    assert not ruling.needs
    assert ruling.verdict.ratio is None


def test_an_arm_without_a_verified_run_is_invalid() -> None:
    base, _ = flat(1.9)
    ruling = rule(base, arm(cell(2), attempted=3))
    assert ruling.verdict.outcome is Word.INVALID
    assert "3 runs attempted, none is verified" in ruling.verdict.reason


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lane": Lane.KVM}, "different lanes (tcg and kvm)"),
        ({"unit": "cycles"}, "different units (ns and cycles)"),
        ({"placement": Placement.SMT}, "different placements (physical and smt)"),
    ],
)
def test_arms_that_cannot_be_compared_are_invalid(change: dict[str, object], said: str) -> None:
    ruling = rule(arm(cell(1), [190] * 5), arm(cell(2), [100] * 5, **change))  # type: ignore[arg-type]
    assert ruling.verdict.outcome is Word.INVALID
    assert said in ruling.verdict.reason


def test_oversubscribed_arms_give_no_speedup() -> None:
    many = arm(cell(2), [100] * 5, placement=Placement.OVERSUBSCRIBED)
    ruling = rule(arm(cell(1), [190] * 5), many)
    assert ruling.verdict.outcome is Word.SKIP
    assert ruling.verdict.ratio is None
    assert "primes-linux-smp2 has more CPUs than pins" in ruling.verdict.reason


def test_a_skipped_arm_has_its_reason() -> None:
    ruling = rule(arm(cell(1), [190] * 5), arm(cell(2), skipped="--smp does not name it"))
    assert ruling.verdict.outcome is Word.SKIP
    assert "primes-linux-smp2 was not run: --smp does not name it" in ruling.verdict.reason
    assert not ruling.needs


def test_a_broken_arm_is_worse_than_a_skipped_one() -> None:
    bad = arm(cell(1), invalid=("no end line",))
    assert rule(bad, arm(cell(2), skipped="too many CPUs")).verdict.outcome is Word.INVALID


@pytest.mark.parametrize(("seen", "word"), [(2.09, Word.PASS), (2.11, Word.INVALID)])
def test_a_speedup_above_what_the_cpus_allow_is_invalid(seen: float, word: Word) -> None:
    ruling = rule(*flat(seen))
    assert ruling.verdict.outcome is word
    if word is Word.INVALID:
        assert "2.11 [2.11, 2.11], above 2.1, which is more than its CPUs allow" in ruling.verdict.reason


def test_only_the_lower_bound_makes_a_large_speedup_invalid() -> None:
    ruling = rule(*pair([190, 200, 215, 220, 230], [100] * 5))
    assert ruling.verdict.low == 1.9
    assert ruling.verdict.outcome is Word.PASS


def with_work(of: Arm, **changes: tuple[float, ...] | tuple[CpuWork, ...] | str) -> Arm:
    assert of.work
    work = replace(of.work, **changes)  # type: ignore[arg-type]
    return replace(of, measurements={**of.measurements, "work": work})


def busy(base: float, other: float) -> tuple[Arm, Arm]:
    """Arms with a speedup of 1.95, and the time in work of all workers of each."""
    return tuple(  # type: ignore[return-value]
        with_work(one, busy=(time,) * 5) for one, time in zip(flat(1.95), (base, other), strict=True)
    )


@pytest.mark.parametrize(
    ("base", "other", "word"),
    [
        (1950, 1000, Word.INVALID),
        (1950, 1850, Word.INVALID),
        (1950, 1860, Word.PASS),
        (1950, 2000, Word.PASS),
    ],
)
def test_a_base_whose_workers_took_longer_for_the_same_work_is_invalid(
    base: float, other: float, word: Word
) -> None:
    """All work on one worker scales only if something slowed that worker down in the base."""
    ruling = rule(*busy(base, other))
    assert ruling.verdict.outcome is word
    if other == 1000:
        said = "for the same work all workers together took 1.95 times as long at smp1 as at smp2"
        assert said in ruling.verdict.reason


@pytest.mark.parametrize(
    ("base", "other", "word"),
    [
        ((2_000_000,) * 5, (1_000_000,) * 5, Word.INVALID),
        ((1_250_001,) * 5, (1_000_000,) * 5, Word.INVALID),
        ((1_250_000,) * 5, (1_000_000,) * 5, Word.PASS),
        ((1_000_000,) * 5, (3_000_000,) * 5, Word.PASS),
        ((2_000_000, 1_000_000, 2_000_000, 2_000_000, 2_000_000), (1_000_000,) * 5, Word.PASS),
        ((2_000_000,) * 5, (1_000_000,) * 4 + (None,), Word.PASS),
    ],
)
def test_a_base_whose_programs_did_more_than_the_work_is_invalid(
    base: tuple[int | None, ...], other: tuple[int | None, ...], word: Word
) -> None:
    """What it did beside the work takes no time of the arm, so that any ratio looks good."""
    one, two = (
        with_work(arm, cpu_work=tuple(CpuWork(programs=each) for each in of))
        for arm, of in zip(flat(1.95), (base, other), strict=True)
    )
    ruling = rule(one, two)
    assert ruling.verdict.outcome is word, ruling.verdict.reason
    if word is Word.INVALID:
        assert f"executed {base[0]:,} instructions in the window" in ruling.verdict.reason


def blurred(late: float, seen: float = 1.65) -> tuple[Arm, Arm]:
    base, other = flat(seen, lane=Lane.INSN)
    assert other.work
    return base, with_work(other, blur=(0.001, late, 0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("late", "seen", "word"),
    [
        (0.02, 1.65, Word.PASS),
        (0.04, 1.65, Word.INCONCLUSIVE),
        (0.04, 1.55, Word.INCONCLUSIVE),
        (0.02, 1.55, Word.FAIL),
        (0.04, 1.67, Word.PASS),
    ],
)
def test_no_verdict_on_a_difference_that_the_clock_cannot_resolve(
    late: float, seen: float, word: Word
) -> None:
    ruling = rule(*blurred(late, seen))
    assert ruling.verdict.outcome is word
    assert not ruling.needs
    if word is Word.INCONCLUSIVE:
        said = "the clock's steps at the vCPUs' hand-overs can have changed it by 4.0%, so it is not resolved"
        assert f"{said} from 1.6 (" in ruling.verdict.reason


def test_no_verdict_on_a_difference_that_other_tasks_of_the_guest_may_have_made() -> None:
    """A base that is slowed down by 5% would make 1.57 look like 1.65."""
    base, other = flat(1.65)
    assert base.work
    verdict = rule(with_work(base, blur=(0.05,) * 5), other).verdict
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "other tasks of the guest can have changed it by 5.0%" in verdict.reason


@pytest.mark.parametrize(
    ("guest", "advice"),
    [
        ("", "use `pause` (bench_relax) in loops that wait for another CPU"),
        ("x86_64", "use `pause` (bench_relax) in loops"),
        ("aarch64", "use `yield` or `wfe` (bench_relax) in loops"),
        ("riscv64", "use `pause` (Zihintpause) or `wfi` (bench_relax) in loops"),
    ],
)
def test_the_advice_names_the_guests_own_instruction(guest: str, advice: str) -> None:
    base, other = (with_work(one, arch=guest) for one in blurred(0.04))
    assert advice in rule(base, other).verdict.reason


def test_two_architectures_have_each_an_advice_of_their_own() -> None:
    base, other = blurred(0.04)
    text = rule(with_work(base, arch="x86_64"), with_work(other, arch="aarch64")).verdict.reason
    assert "use `yield` or `wfe` on aarch64 and `pause` on x86_64 (bench_relax)" in text


def test_a_look_uses_the_resolution_of_its_own_runs() -> None:
    base, other = flat(1.65, runs=7)
    assert other.work
    other = with_work(other, blur=(0.0,) * 6 + (0.5,))
    assert rule(base, other).verdict.outcome is Word.PASS


def host(ratio: float, low: float, lane: Lane = Lane.TCG) -> CapacityBound:
    return CapacityBound(lane, 2, ratio, low, ratio + 0.05)


@pytest.mark.parametrize(
    ("seen", "capacity", "word"),
    [
        (1.30, host(1.35, 1.31), Word.INCONCLUSIVE),
        (1.30, host(1.35, 1.31, Lane.KVM), Word.FAIL),  # measured on another lane
        (1.58, host(1.75, 1.59), Word.INCONCLUSIVE),
        (1.58, host(1.75, 1.60), Word.FAIL),  # its lower bound is not below the threshold
        (1.43, host(1.58, 1.50), Word.INCONCLUSIVE),
        (1.42, host(1.58, 1.50), Word.FAIL),  # less than 0.9 of 1.58
        (1.30, host(1.58, 1.00), Word.FAIL),  # a noisy capacity excuses no more than a quiet one
    ],
)
def test_capacity_excuses_a_fail_only_if_the_guest_reaches_nearly_all_of_it(
    seen: float, capacity: CapacityBound, word: Word
) -> None:
    verdict = rule(*flat(seen), capacity=capacity).verdict
    assert verdict.outcome is word
    assert ("host" in verdict.reason) == (capacity.lane is Lane.TCG)


def test_capacity_never_prevents_a_pass() -> None:
    assert rule(*flat(1.9), capacity=host(1.35, 1.31)).verdict.outcome is Word.PASS


def test_on_the_instruction_clock_capacity_is_ignored_and_insn_is_the_threshold() -> None:
    arms = arm(cell(1), [175] * 5, lane=Lane.INSN), arm(cell(2), [100] * 5, lane=Lane.INSN)
    measured = GateInput({one.cell.id: one for one in arms}, POLICY, {2: host(1.8, 1.7, Lane.INSN)})
    assert judge(speedup(insn=1.9), measured).verdict.outcome is Word.FAIL
    assert judge(speedup(insn=1.9), measured).verdict.threshold == 1.9
    assert judge(speedup(), measured).verdict.outcome is Word.PASS


RISING = pair([190, 191, 192, 193, 194], [100, 101, 102, 103, 104])


def test_runs_that_drift_decide_nothing() -> None:
    verdict = rule(*RISING).verdict
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "the runs drift and are not independent" in verdict.reason
    shuffled = pair([192, 190, 194, 191, 193], [102, 100, 104, 101, 103])
    assert rule(*shuffled).verdict.outcome is Word.PASS
    assert (rule(*shuffled).verdict.low, rule(*shuffled).verdict.high) == (verdict.low, verdict.high)


def test_runs_that_drift_ask_for_the_next_look() -> None:
    ruling = rule(*RISING, policy=replace(POLICY, max_runs=9))
    assert ruling.needs == {one.cell.id: 9 for one in RISING}


def test_runs_that_drift_decide_once_a_later_look_shows_no_drift() -> None:
    base = [190, 191, 192, 193, 194, 190, 193, 191, 192]
    other = [100, 101, 102, 103, 104, 100, 103, 101, 102]
    assert rule(*pair(base, other), policy=replace(POLICY, max_runs=9)).verdict.outcome is Word.PASS


def test_seeds_of_the_instruction_clock_cannot_drift() -> None:
    arms = [arm(cell(1), [190, 191, 192, 193, 194], lane=Lane.INSN)]
    arms.append(arm(cell(2), [100, 101, 102, 103, 104], lane=Lane.INSN))
    assert rule(*arms).verdict.outcome is Word.PASS


def test_the_gates_window_is_judged() -> None:
    arms = arm(cell(1), [190] * 5, total=[200] * 5), arm(cell(2), [100] * 5, total=[150] * 5)
    measured = GateInput({one.cell.id: one for one in arms}, POLICY, {})
    assert judge(speedup(), measured).verdict.outcome is Word.PASS
    total = judge(speedup(metric="total"), measured).verdict
    assert (total.outcome, total.metric) == (Word.FAIL, "total")
    assert "(total, tcg, 5 runs per arm)" in total.reason


def test_invalid_gates_are_refused() -> None:
    arms = {one.cell.id: one for one in flat(1.9)}
    measured = GateInput(arms, POLICY, {})
    for gate, said in [
        (replace(speedup(), at_least=None), "takes at_least"),
        (replace(speedup(), base=None), "needs a base"),
        (replace(speedup(), base=cell(1, system="native")), "is not a speedup"),
        (replace(speedup(), base=cell(2)), "is not a speedup"),
        (speedup(cpus=4), "no arm primes-linux-smp4"),
    ]:
        with pytest.raises(DecideError, match=said):
            judge(gate, measured)


INFORMS = replace(POLICY, informs="another clock decides", shows=True)


@pytest.mark.parametrize(("seen", "sign"), [(1.9, ">"), (1.2, "<")])
def test_a_gate_that_informs_shows_its_figures_and_decides_nothing(seen: float, sign: str) -> None:
    ruling = rule(*flat(seen), policy=INFORMS)
    verdict = ruling.verdict
    assert (verdict.outcome, verdict.ratio, verdict.threshold, ruling.needs) == (Word.SKIP, seen, 1.6, {})
    assert verdict.reason == (
        f"SKIP: primes-linux smp2/smp1 = {seen:.2f} [{seen:.2f}, {seen:.2f}] {sign} 1.6 (work, tcg, "
        "5 runs per arm): for information only: another clock decides"
    )


def test_a_gate_that_informs_asks_for_no_further_look() -> None:
    ruling = rule(*pair([190, 100, 180, 110, 150], [100] * 5), policy=INFORMS)
    assert (ruling.verdict.outcome, ruling.needs) == (Word.SKIP, {})
    assert "around 1.6 (work, tcg, 5 runs per arm)" in ruling.verdict.reason


def test_a_gate_that_informs_is_not_wrong_where_noise_makes_it_impossible() -> None:
    assert rule(*flat(3.0)).verdict.outcome is Word.INVALID
    assert rule(*flat(3.0), policy=INFORMS).verdict.outcome is Word.SKIP


def test_information_never_covers_a_wrong_answer() -> None:
    base, other = flat(1.9)
    ruling = rule(base, replace(other, invalid=("0007: the sum is wrong",), attempted=6), policy=INFORMS)
    assert ruling.verdict.outcome is Word.INVALID
    assert "the sum is wrong" in ruling.verdict.reason


RPS = Metric("rps", MetricKind.RATE, MetricDirection.MORE, "requests/s", of="done")
P99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)


def of_metric(metric: Metric, base: float, other: float, at_least: float = 1.6) -> Ruling:
    arms = []
    for cpus, figure in ((1, base), (2, other)):
        bare = arm(cell(cpus), [1000.0] * 5)
        one = measurement(cell(cpus), [figure] * 5, metric=metric)
        arms.append(replace(bare, measurements={**bare.measurements, metric.name: one}))
    gate = speedup(at_least=at_least, metric=metric.name)
    host = {2: CapacityBound(Lane.TCG, 2, 1.1, 1.0, 1.2)}
    return judge(gate, GateInput({one.cell.id: one for one in arms}, POLICY, host))


def test_a_rate_is_better_if_it_is_higher() -> None:
    verdict = of_metric(RPS, 1000, 1900).verdict
    assert (verdict.outcome, verdict.ratio, verdict.metric) == (Word.PASS, 1.9, "rps")
    assert of_metric(RPS, 1900, 1000).verdict.outcome is Word.FAIL


def test_cpus_and_the_host_limit_a_rate_but_not_a_latency() -> None:
    assert of_metric(RPS, 1000, 3000).verdict.outcome is Word.INVALID
    assert of_metric(P99, 3000, 1000).verdict.outcome is Word.PASS
    assert of_metric(RPS, 1000, 1100).verdict.outcome is Word.INCONCLUSIVE
    assert of_metric(P99, 1100, 1000).verdict.outcome is Word.FAIL


def test_a_threshold_beyond_the_cpus_is_possible_for_a_latency_only() -> None:
    gate = speedup(at_least=5.0)
    gates.check(gate, P99, POLICY)
    for metric in (RPS, WINDOWS["work"]):
        with pytest.raises(DecideError, match="decides nothing"):
            gates.check(gate, metric, POLICY)


# ---- figures printed in coarse steps


def coarse(base: float, other: float) -> tuple[Arm, Arm]:
    """Five equal runs of each, in ticks of 10 ms."""
    tick = 10e6
    arms = pair([base * tick] * 5, [other * tick] * 5)
    return tuple(
        replace(one, measurements={name: replace(of, step=tick) for name, of in one.measurements.items()})
        for one in arms
    )  # type: ignore[return-value]


def test_an_interval_of_coarse_figures_is_as_wide_as_their_step() -> None:
    """Cycles say 3.76 where 46 ticks and 12 give 3.83."""
    verdict = rule(*coarse(46, 12), at_least=1.2).verdict
    assert verdict.low == pytest.approx(45 / 13)
    assert verdict.high == pytest.approx(47 / 11)


def test_coarse_figures_do_not_pass_a_threshold_inside_their_step() -> None:
    assert rule(*flat(1.7)).verdict.outcome is Word.PASS
    ruling = rule(*coarse(17, 10))
    assert ruling.verdict.outcome is Word.INCONCLUSIVE
    assert "5 runs per arm, printed in steps of 10 ms); next: make the work longer" in ruling.verdict.reason
