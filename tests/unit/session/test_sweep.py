"""The loop of a sweep with a fake lab: which runs it makes, in which order, and when it stops."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.base.gates import CapacityBound, Word
from benchgate.base.runs import Outcome
from benchgate.judge import arms, decide
from benchgate.judge.arms import arm_from_runs
from benchgate.judge.judged_run import JudgedRun, judge_run
from benchgate.plan import marks, planner
from benchgate.plan.marks import MarkArguments
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground, PlannedCell, SweepPlan
from benchgate.plan.seats import reseat
from benchgate.session import sweep
from benchgate.session.pytest_hooks.results import RowResult
from benchgate.session.sweep import PlannedRun, SweepResult
from tests.unit.factories import POLICY, raw_run, verified

VOID = "run delay 50% (limit 2%)"
GROUND = Ground(pins=(0, 1), smt_pins=(0, 1), lanes={"qemu": (Lane.TCG, ""), "native": (Lane.NATIVE, "")})


def the_plan(*cpus: int, at_least: float = 1.6) -> SweepPlan:
    gates = [MarkArguments((), {"cpus": count, "at_least": at_least}) for count in cpus]
    request = marks.read(MarkArguments(("primes",), {}), {"speedup": gates})
    cells = planner.plan_cells(request, Options(), GROUND)
    (plan,) = planner.sweeps(cells, planner.plan_gates(request, Options(), GROUND))
    return plan


class FakeLab:
    """Gives every attempt a figure: 1,000,000 over the CPU count, plus noise without drift."""

    NOISE = (3, 1, 4, 1, 5, 9, 2, 6)
    against: Mapping[str, object] = {}

    def __init__(self, side_by_side: int = 1, **wrong: str) -> None:
        self.side_by_side = side_by_side
        self.groups: list[int] = []
        self.asked: list[PlannedRun] = []
        self.capacities: list[tuple[int, ...]] = []
        self.seconds_per_run = 1.0
        self.wrong = wrong
        self.before: list[JudgedRun] = []
        self.disturbed: Container[int] = ()
        """The attempts that the host disturbs, by order. Their figures are ten times larger."""

    def now_s(self) -> float:
        return len(self.asked) * self.seconds_per_run

    def at_once(self, planned: PlannedCell) -> int:
        assert planned.cell.row == "primes-linux"
        return self.side_by_side

    def attempts(self, group: Sequence[PlannedRun]) -> Iterator[JudgedRun]:
        self.groups.append(len(group))
        given: list[JudgedRun] = []
        for attempt in group:
            if sweep.ends_group(given):
                return
            given.append(self._attempt(attempt))
            yield given[-1]

    def judged(self) -> Sequence[JudgedRun]:
        return self.before

    def _attempt(self, attempt: PlannedRun) -> JudgedRun:
        self.asked.append(attempt)
        cell = attempt.planned.cell
        lane = attempt.planned.seats.lane
        run = raw_run(cell, attempt=len(self.asked), warmup=attempt.warmup, lane=lane)
        run = replace(run, seed=attempt.seed)
        reason = self.wrong.get(f"smp{cell.cpus}")
        if reason and not attempt.warmup:
            return JudgedRun(run, None, reason)
        void = VOID if attempt.order in self.disturbed else ""
        work = (1_000_000 // cell.cpus + self.NOISE[len(self.asked) % 8]) * (10 if void else 1)
        return judge_run(run, lambda _: replace(verified(run, work), void=void))

    def capacity(self, row: str, counts: tuple[int, ...]) -> Mapping[int, CapacityBound]:
        assert row == "primes-linux"
        self.capacities.append(counts)
        return {count: CapacityBound(Lane.TCG, count, 1.4, 1.35, 1.45) for count in counts}


def ids(lab: FakeLab) -> list[str]:
    return [f"{'w' if run.warmup else ''}{run.planned.cell.cpus}" for run in lab.asked]


def test_each_arm_gets_one_warm_up_and_its_runs_interleaved() -> None:
    lab = FakeLab()
    result = sweep.run_sweep(the_plan(2), Options(), replace(POLICY, max_runs=5), lab, seed=1)
    asked = ids(lab)
    assert sorted(asked[:2]) == ["w1", "w2"]
    assert sorted(asked[2:]) == ["1"] * 5 + ["2"] * 5
    first = asked[2:4]
    assert asked[4:6] == first[::-1]
    assert result.order == tuple(run.planned.cell.id for run in lab.asked)
    assert [run.order for run in lab.asked] == list(range(1, 13))
    assert [verdict.outcome for verdict in result.verdicts] == [Word.PASS]
    assert result.arms["primes-linux-smp1"].runs == 5


def test_each_run_knows_how_many_runs_its_sweep_has_by_then() -> None:
    """The first look does not decide (the gate is at the ratio itself), so four more runs per arm follow."""
    lab = FakeLab()
    sweep.run_sweep(the_plan(2, at_least=2.0), Options(), replace(POLICY, max_runs=9), lab, seed=1)
    assert [run.sweep_runs for run in lab.asked] == [2 + 5 + 5] * 12 + [2 + 9 + 9] * 8


def test_the_hosts_capacity_is_sampled_between_the_rounds() -> None:
    lab = FakeLab()
    sweep.run_sweep(the_plan(2), Options(), POLICY, lab, seed=1)
    assert lab.capacities == [(2,)] * 5


def test_a_row_of_one_cpu_count_has_no_speedup_that_the_hosts_capacity_could_limit() -> None:
    lab, plan = FakeLab(), the_plan(2)
    alone = replace(
        plan,
        cells=tuple(planned_cell for planned_cell in plan.cells if planned_cell.cell.cpus == 2),
        gates=(),
    )
    assert len(alone.cells) == 1
    sweep.run_sweep(alone, Options(), POLICY, lab, seed=1)
    assert len(lab.asked) > 1
    assert lab.capacities == []


def disturbed(orders: Container[int], lab: FakeLab | None = None) -> FakeLab:
    lab = lab or FakeLab()
    lab.disturbed = orders
    return lab


def outcomes(result: SweepResult) -> Counter[Outcome]:
    return Counter(judged.outcome for judged in result.runs)


def test_a_void_run_is_replaced_and_counted_and_is_no_sample() -> None:
    """A warm-up that is disturbed (order 1) is discarded anyway."""
    lab = disturbed((1, 3, 8))
    result = sweep.run_sweep(the_plan(2), Options(), replace(POLICY, max_runs=5), lab, seed=1)
    assert outcomes(result) == {Outcome.WARMUP: 2, Outcome.VOID: 2, Outcome.OK: 10}
    voided = [judged.run.attempt for judged in result.runs if judged.outcome is Outcome.VOID]
    assert voided == [3, 8]
    assert [arm.runs for arm in result.arms.values()] == [5, 5]
    assert sum(arm.attempted for arm in result.arms.values()) == 12
    assert sum(len(arm.void) for arm in result.arms.values()) == 2
    samples = {sample for arm in result.arms.values() if arm.work for sample in arm.work.samples}
    figures = {judged.verified.work for judged in result.runs if judged.verified and judged.verified.void}
    assert figures
    assert not samples & figures
    (verdict,) = result.verdicts
    assert (verdict.outcome, verdict.runs) == (Word.PASS, 5)
    assert lab.asked[-1].sweep_runs == 14


def test_a_sweep_never_ends_at_noise_below_the_limit() -> None:
    """Three void runs are allowed at any length; later ones only together with as many good ones."""
    lab = disturbed((3, 4, 5))
    result = sweep.run_sweep(the_plan(2), Options(), replace(POLICY, max_runs=5), lab, seed=1)
    assert outcomes(result)[Outcome.OK] == 10
    assert [verdict.outcome for verdict in result.verdicts] == [Word.PASS]


def test_too_many_void_runs_end_the_sweep_and_decide_nothing() -> None:
    lab = disturbed(range(100))
    plan = the_plan(2)
    plan = replace(plan, gates=(*plan.gates, planner.verified_gate(plan.cells[0])))
    result = sweep.run_sweep(plan, Options(), POLICY, lab, seed=1)
    assert outcomes(result) == {Outcome.WARMUP: 2, Outcome.VOID: 4}
    assert [verdict.outcome for verdict in result.verdicts] == [Word.INCONCLUSIVE] * 2
    subjects = ("primes-linux smp2/smp1", "primes-linux-smp1")
    for subject, verdict in zip(subjects, result.verdicts, strict=True):
        why = f"INCONCLUSIVE: {subject}: 4 of 4 runs of this sweep are void, more than 3 and 50%"
        assert verdict.reason.startswith(f"{why}: ")
        assert f"{VOID} (and 3 more); next: stop the host's other work" in verdict.reason


def test_the_limit_of_void_runs_is_the_policys() -> None:
    lab = disturbed(range(3, 100))
    strict = replace(POLICY, void=replace(POLICY.void, most=0, share=0.0))
    result = sweep.run_sweep(the_plan(2), Options(), strict, lab, seed=1)
    assert outcomes(result) == {Outcome.WARMUP: 2, Outcome.VOID: 1}
    assert [verdict.outcome for verdict in result.verdicts] == [Word.INCONCLUSIVE]


def test_a_verdict_before_too_many_void_runs_is_kept() -> None:
    """At the first look smp2 passes; then the host disturbs every run that smp4 still needs."""
    done = sweep.run_sweep(the_plan(2), Options(), replace(POLICY, max_runs=5), FakeLab(), seed=1)
    last = next(judged for judged in reversed(done.runs) if judged.verified)
    assert last.verified is not None
    more = [
        JudgedRun(replace(last.run, attempt=20 + n), replace(last.verified, run=last.run, void="noise"))
        for n in range(30)
    ]
    gates = [planned_gate.gate for planned_gate in done.plan.gates]
    found_arms = arms.arms(done.plan.pairs, [*done.runs, *more])
    (verdict,) = decide.decide(gates, found_arms, POLICY).verdicts
    assert verdict == done.verdicts[0]


def test_an_undecided_gate_says_that_noise_ended_its_sweep() -> None:
    lab = disturbed(range(13, 100), NoisyLab())
    result = sweep.run_sweep(the_plan(2), Options(), replace(POLICY, max_runs=25), lab, seed=1)
    (verdict,) = result.verdicts
    assert (verdict.outcome, verdict.runs) == (Word.INCONCLUSIVE, 5)
    assert "is inside the interval (work, tcg, 5 runs per arm); 11 of 21 runs" in verdict.reason


class NoisyLab(FakeLab):
    """The speedup is 1.6, the threshold, so that no look decides."""

    NOISE = (300_000, 100_000, 400_000, 150_000, 500_000, 0, 200_000, 250_000)


def test_undecided_gates_go_on_to_the_last_look() -> None:
    lab = NoisyLab()
    result = sweep.run_sweep(the_plan(2), Options(), replace(POLICY, max_runs=25), lab, seed=1)
    assert result.arms["primes-linux-smp1"].runs == 25
    assert [verdict.outcome for verdict in result.verdicts] == [Word.INCONCLUSIVE]
    counted = [run.label for run in lab.asked if not run.warmup]
    assert counted[0] == "run 1 of 5, look 1 of 4"
    assert counted[-1] == "run 25 of 25, look 4 of 4"


def test_no_look_is_begun_after_the_policys_time() -> None:
    """A minute per run: after the first look, with 12 runs, 5 minutes are over."""
    lab = NoisyLab()
    lab.seconds_per_run = 60
    result = sweep.run_sweep(the_plan(2), Options(), replace(POLICY, max_runs=25), lab, seed=1)
    assert result.arms["primes-linux-smp1"].runs == 5
    (verdict,) = result.verdicts
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "no look at 9 runs was begun after 5 min; next: raise `minutes`" in verdict.reason


def test_the_first_look_has_no_limit_of_time() -> None:
    lab = FakeLab()
    lab.seconds_per_run = 3600
    result = sweep.run_sweep(the_plan(2), Options(), replace(POLICY, minutes=0), lab, seed=1)
    assert [verdict.outcome for verdict in result.verdicts] == [Word.PASS]


def test_parallel_runs_are_the_same_in_the_same_order() -> None:
    alone, beside = FakeLab(), FakeLab(side_by_side=5)
    for lab in (alone, beside):
        sweep.run_sweep(the_plan(2), Options(), replace(POLICY, max_runs=5), lab, seed=1)
    assert set(alone.groups) == {1}
    assert beside.groups == [2 + 5 + 5]
    result = [
        [(run.planned.cell.id, run.order, run.seed, run.label) for run in lab.asked]
        for lab in (alone, beside)
    ]
    assert sorted(result[0]) == sorted(result[1])
    assert result[0][:7] == result[1][:7]


def test_in_parallel_an_invalid_run_ends_the_sweep() -> None:
    lab = FakeLab(side_by_side=4, smp2="worker 1 counted 5 primes, the oracle says 7")
    result = sweep.run_sweep(the_plan(2), Options(), POLICY, lab, seed=1)
    assert ids(lab).count("2") == 1
    assert len(lab.groups) == 1
    assert [verdict.outcome for verdict in result.verdicts] == [Word.INVALID]


def test_one_invalid_run_ends_the_sweep_and_no_verdict_passes() -> None:
    lab = FakeLab(smp2="worker 1 counted 5 primes, the oracle says 7")
    result = sweep.run_sweep(the_plan(2), Options(), POLICY, lab, seed=1)
    assert ids(lab).count("2") == 1
    assert [verdict.outcome for verdict in result.verdicts] == [Word.INVALID]
    assert "worker 1 counted 5 primes" in result.verdicts[0].reason


@pytest.mark.parametrize("at_once", [1, 4])
def test_an_invalid_run_does_not_end_the_gates_of_other_arms(at_once: int) -> None:
    ground = replace(GROUND, pins=(0, 1, 2, 3))
    lab = FakeLab(at_once, smp4="worker 3 never reported")
    result = sweep.run_sweep(reseat(the_plan(2, 4), ground, Options()), Options(), POLICY, lab, seed=1)
    two, four = result.verdicts
    assert (two.outcome, four.outcome) == (Word.PASS, Word.INVALID)
    assert "worker 3 never reported" in four.reason
    assert ids(lab).count("4") == 1
    assert ids(lab).count("1") >= 5


def test_an_arm_that_every_gate_uses_ends_the_sweep() -> None:
    ground = replace(GROUND, pins=(0, 1, 2, 3))
    lab = FakeLab(smp1="no end line")
    result = sweep.run_sweep(reseat(the_plan(2, 4), ground, Options()), Options(), POLICY, lab, seed=1)
    assert [verdict.outcome for verdict in result.verdicts] == [Word.INVALID, Word.INVALID]
    assert ids(lab).count("1") == 1
    assert ids(lab).count("2") + ids(lab).count("4") <= 2


def test_a_verdict_before_an_invalid_run_of_another_arm_is_kept() -> None:
    ground = replace(GROUND, pins=(0, 1, 2, 3))
    planned = reseat(the_plan(2, 4), ground, Options())
    done = sweep.run_sweep(planned, Options(), replace(POLICY, max_runs=5), FakeLab(), seed=1)
    last = next(judged for judged in reversed(done.runs) if judged.run.cell.cpus == 4)
    bad = replace(last, verified=None, reason="late lie")
    runs = [bad if judged is last else judged for judged in done.runs]
    gates = [planned_gate.gate for planned_gate in planned.gates]
    verdicts = decide.decide(gates, arms.arms(planned.pairs, runs), POLICY).verdicts
    assert [verdict.outcome for verdict in verdicts] == [Word.PASS, Word.INVALID]


def test_a_seed_that_does_not_repeat_makes_all_arms_of_the_lane_invalid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only one arm repeats a seed, but a difference there is a fault of the host."""
    monkeypatch.setattr(arms, "difference", lambda one, two: f"{one.attempt} and {two.attempt} differ")
    ground = replace(GROUND, lanes={"qemu": (Lane.INSN, "")})
    planned = reseat(the_plan(2, 4), ground, Options())
    cells = tuple(planner.verified_gate(planned_cell) for planned_cell in planned.cells)
    planned = replace(planned, gates=(*planned.gates, *cells))
    result = sweep.run_sweep(planned, Options(), replace(POLICY, max_runs=5), FakeLab(), seed=1)
    assert [verdict.outcome for verdict in result.verdicts] == [Word.INVALID] * 5
    for one in planned.cells:
        cell = RowResult(result, inconclusive_fails=True).cell(one)
        with pytest.raises(pytest.fail.Exception, match=r"^INVALID: primes-linux-smp.*: 1 and . differ"):
            cell.require_verified()
    # The repeated arm is smp2: no sentence may count its difference as a run of another arm.
    for verdict in result.verdicts:
        subject = verdict.id.removesuffix("-verified")
        subject = subject if verdict.gate == "verified" else f"primes-linux smp{verdict.cpus}/smp1"
        said = f"INVALID: {subject}: the instruction clock does not repeat on this host: 1 and "
        assert verdict.reason.startswith(said), verdict.reason


def test_another_row_of_the_system_and_workload_does_not_repeat_but_shares_the_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arms, "difference", lambda one, two: f"{one.attempt} and {two.attempt} differ")
    ground = replace(GROUND, lanes={"qemu": (Lane.INSN, "")})
    planned = replace(reseat(the_plan(2), ground, Options()), repeats=False)
    lab = FakeLab()
    clean = sweep.run_sweep(planned, Options(), replace(POLICY, max_runs=5), lab, seed=1)
    assert sorted(ids(lab)) == ["1"] * 5 + ["2"] * 5
    assert [verdict.outcome for verdict in clean.verdicts] == [Word.PASS]
    lab = FakeLab()
    other = replace(planned.cells[0].cell, label="primes.split-one")
    assert other.id != planned.cells[0].cell.id
    for number in (101, 102):
        run = raw_run(other, attempt=number, lane=Lane.INSN)
        lab.before.append(judge_run(run, lambda one: verified(one, 1_000)))
    result = sweep.run_sweep(planned, Options(), replace(POLICY, max_runs=5), lab, seed=1)
    (verdict,) = result.verdicts
    assert verdict.outcome is Word.INVALID
    assert "101 and 102 differ" in verdict.reason


def test_skipped_arms_are_not_run_and_their_gate_has_the_reason() -> None:
    lab = FakeLab()
    result = sweep.run_sweep(the_plan(2, 4), Options(), replace(POLICY, max_runs=5), lab, seed=1)
    assert "4" not in ids(lab)
    assert [verdict.outcome for verdict in result.verdicts] == [Word.PASS, Word.SKIP]
    assert "4 CPUs need 4 host CPUs" in result.verdicts[1].reason


def test_a_session_of_one_run_decides_nothing() -> None:
    lab = FakeLab()
    options = Options(runs=1, max_runs=1)
    result = sweep.run_sweep(the_plan(2), options, POLICY.with_runs(1, 1), lab, seed=1)
    assert ids(lab).count("2") == 1
    assert [verdict.outcome for verdict in result.verdicts] == [Word.SKIP]


def test_every_arm_uses_the_same_seeds() -> None:
    lab = FakeLab()
    sweep.run_sweep(the_plan(2), Options(), replace(POLICY, max_runs=5), lab, seed=1)
    by_arm = {count: [run.seed for run in lab.asked if run.planned.cell.cpus == count] for count in (1, 2)}
    assert by_arm[1] == by_arm[2] == [1, 1, 2, 3, 4, 5]


def test_an_arm_without_a_verified_run_has_no_figure() -> None:
    cell = the_plan(2).cells[0].cell
    bad = JudgedRun(raw_run(cell, folder=Path("0001-x")), None, "no end line")
    arm = arm_from_runs(cell, [bad], "")
    assert (arm.work, arm.total, arm.attempted) == (None, None, 1)
    assert arm.invalid == ("run 0001: no end line",)
    assert (arm.sample, arm.culprit) == ("", "runs/0001-x")


def test_an_arm_names_its_first_counted_run_and_its_first_that_is_not_verified() -> None:
    cell = the_plan(2).cells[0].cell
    runs = [raw_run(cell, attempt=n, warmup=n == 1, folder=Path(f"s/runs/000{n}-x")) for n in range(1, 6)]
    judged = [JudgedRun(run, verified(run, 1000) if run.attempt < 4 else None) for run in runs]
    arm = arm_from_runs(cell, judged, "")
    assert (arm.sample, arm.culprit) == ("runs/0002-x", "runs/0004-x")


def test_reseating_uses_the_lane_of_the_host() -> None:
    fresh = reseat(the_plan(2), replace(GROUND, lanes={"qemu": (Lane.KVM, "")}), Options())
    assert {cell.seats.lane for cell in fresh.cells} == {Lane.KVM}
    assert {gate.arm.seats.lane for gate in fresh.gates} == {Lane.KVM}


def test_a_sweep_that_informs_ends_at_the_first_look() -> None:
    """On the same figures a sweep that decides goes on to 25 runs (above)."""
    informs = replace(POLICY, max_runs=25, informs="another clock decides", shows=True)
    result = sweep.run_sweep(the_plan(2), Options(), informs, NoisyLab(), seed=1)
    assert result.arms["primes-linux-smp1"].runs == 5
    assert [verdict.outcome for verdict in result.verdicts] == [Word.SKIP]
    assert result.verdicts[0].ratio is not None


def test_a_sweep_that_informs_is_invalid_at_a_wrong_answer() -> None:
    informs = replace(POLICY, informs="another clock decides")
    result = sweep.run_sweep(the_plan(2), Options(), informs, FakeLab(smp2="the sum is wrong"), seed=1)
    assert [verdict.outcome for verdict in result.verdicts] == [Word.INVALID]


def test_what_is_asked_for_first_is_known_before_anything_runs() -> None:
    lab = FakeLab(side_by_side=4)
    first = sweep.first_runs(the_plan(2), Options(), POLICY, lab, seed=1)
    assert lab.asked == []
    sweep.run_sweep(the_plan(2), Options(), POLICY, lab, seed=1)
    assert len(first) == lab.groups[0] > 5
    assert first == [replace(run, sweep_runs=0) for run in lab.asked[: len(first)]]


def test_one_at_a_time_nothing_is_asked_for_ahead() -> None:
    assert sweep.first_runs(the_plan(2), Options(), POLICY, FakeLab(), seed=1) == []
