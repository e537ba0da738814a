"""Arms whose runs fall into groups: every kind of gate says so, and passes only if the worst group does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Verdict, Word
from benchgate.base.workload.metrics import OF_THREADS, WASTED, WASTED_LONGEST
from benchgate.judge.gates import judge
from tests.unit.factories import POLICY, arm, cell, control, speedup
from tests.unit.judge.gates.test_scaling import amdahl

GOOD, BAD = 100.0, 180.0
"""The times of the larger arm. The smaller one takes 190, so their speedups are 1.90 and 1.06."""
OLD = replace(POLICY, apart=0.0)
"""The policy of sessions of earlier versions."""


def seeded(cpus: int, samples: Sequence[float], lane: Lane = Lane.INSN, **facts: object) -> Arm:
    made = arm(cell(cpus), samples, lane=lane, unit="ns", **facts)  # type: ignore[arg-type]
    runs = tuple(f"runs/{n:04}-x" for n in range(1, len(samples) + 1))
    seeds = tuple(range(1, len(samples) + 1))
    measurements = {
        name: replace(of, seeds=seeds, runs=runs, blur=(0.0,) * len(samples))
        for name, of in made.measurements.items()
    }
    return replace(made, measurements=measurements, sample=runs[0])


def decided(gate: Gate, *arms: Arm, policy: Policy = POLICY) -> Verdict:
    return judge(gate, GateInput({one.cell.id: one for one in arms}, policy, {})).verdict


def mixed(bad: int, of: int = 5) -> list[float]:
    return [BAD] * bad + [GOOD] * (of - bad)


def limit(**changes: object) -> Gate:
    return replace(Gate("g", "limit", None, cell(2), "work", None, 150.0), **changes)  # type: ignore[arg-type]


# ---- what is said


def test_a_pass_says_the_groups_their_medians_and_their_seeds_and_names_a_command() -> None:
    """The example of issue 52: one of five runs is 30 times slower, and the gate asks for 0.9."""
    arms = seeded(1, [31.0] * 5), seeded(2, [1.0, 1.01, 32.0, 1.02, 0.99])
    verdict = decided(
        speedup(at_least=0.9), *arms, policy=replace(POLICY, superlinear=99, superlinear_ideal=99)
    )
    assert verdict.outcome is Word.PASS
    assert (
        "; the runs of smp2 fall into 2 groups: 1.005 ns (seeds 1, 2, 4, 5), 32 ns (seed 3 alone)"
        in verdict.reason
    )
    assert (
        "; next: benchgate replay runs/0001-x --profile and benchgate replay runs/0003-x --profile"
        in verdict.reason
    )
    assert verdict.smallest_effect is None  # of a median of two regimes it means nothing


def test_a_gate_between_the_groups_is_inconclusive_and_names_a_command() -> None:
    verdict = decided(speedup(), seeded(1, [190.0] * 5), seeded(2, mixed(2)))
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "but 1.6 lies between groups: the runs of smp2 fall into 2 groups" in verdict.reason
    assert "100 ns (seeds 3, 4, 5), 180 ns (seeds 1, 2)" in verdict.reason
    assert (
        "; next: benchgate replay runs/0003-x --profile and benchgate replay runs/0001-x --profile"
        in verdict.reason
    )


def test_an_arm_without_groups_says_nothing_of_them() -> None:
    verdict = decided(speedup(), seeded(1, [190, 191, 189, 190, 192]), seeded(2, [100, 99, 101, 100, 108]))
    assert verdict.outcome is Word.PASS
    assert "group" not in verdict.reason


# ---- the word does not depend on how many runs are in which group


@pytest.mark.parametrize("runs", [5, 9, 25])
def test_how_many_seeds_are_bad_does_not_decide_between_pass_and_inconclusive(runs: int) -> None:
    policy = replace(POLICY, first=runs, max_runs=runs)
    base = seeded(1, [190.0] * runs)
    words = [
        decided(speedup(), base, seeded(2, mixed(bad, runs)), policy=policy).outcome
        for bad in range(runs + 1)
    ]
    assert words[0] is Word.PASS
    assert words[-1] is Word.FAIL
    half = (runs + 1) // 2
    assert words[1:half] == [Word.INCONCLUSIVE] * (half - 1)
    assert Word.PASS not in words[1:]


def test_before_there_was_such_a_rule_few_bad_seeds_passed() -> None:
    """Sessions of earlier versions keep their verdicts. With this rule the same runs do not pass."""
    old, new = (replace(of, first=25, max_runs=25) for of in (OLD, POLICY))
    arms = seeded(1, [190.0] * 25), seeded(2, mixed(3, 25))
    assert decided(speedup(), *arms, policy=old).outcome is Word.PASS
    assert "group" not in decided(speedup(), *arms, policy=old).reason
    assert decided(speedup(), *arms, policy=new).outcome is Word.INCONCLUSIVE


# ---- every kind


def efficiency() -> Gate:
    return Gate("g", "efficiency", cell(1), cell(2), "work", 0.8)


def weak() -> Gate:
    return Gate("g", "weak", cell(1), cell(2), "work", 0.8)


def overhead() -> Gate:
    return Gate("g", "overhead", None, cell(2), "work", None, 1.5)


def ratio() -> Gate:
    return Gate("g", "ratio", cell(2), cell(2, system="kernel"), "work", 0.8)


def _of_ratio(samples: Sequence[float]) -> tuple[Arm, Arm]:
    one, two = seeded(2, [100.0] * len(samples)), seeded(2, samples)
    system = cell(2, system="kernel")
    moved = {name: replace(of, cell=system) for name, of in two.measurements.items()}
    return one, replace(two, cell=system, measurements=moved)


CASES: dict[str, tuple[Gate, Callable[[Sequence[float]], Sequence[Arm]]]] = {
    "speedup": (speedup(), lambda samples: (seeded(1, [190.0] * 9), seeded(2, samples))),
    "control": (control(at_most=1.5), lambda samples: (seeded(1, [190.0] * 9), seeded(2, samples))),
    "efficiency": (efficiency(), lambda samples: (seeded(1, [190.0] * 9), seeded(2, samples))),
    "weak": (weak(), lambda samples: (seeded(1, [100.0] * 9), seeded(2, samples))),
    "limit": (limit(), lambda samples: (seeded(2, samples),)),
    "overhead": (overhead(), lambda samples: (seeded(2, [100.0] * 9, total=samples),)),
    "ratio": (ratio(), _of_ratio),
}
"""A gate of each kind that passes with GOOD and not with BAD, and its arms."""


@pytest.mark.parametrize("kind", CASES)
def test_a_kind_passes_only_if_its_worst_group_does(kind: str) -> None:
    """One bad run of nine: without the rule each of these passes."""
    gate, arms = CASES[kind]
    now, before = replace(POLICY, first=9, max_runs=9), replace(OLD, first=9, max_runs=9)
    bad = 8 if kind == "control" else 1  # it wants no speedup
    made = arms(mixed(bad, 9))
    assert decided(gate, *made, policy=before).outcome is Word.PASS
    verdict = decided(gate, *made, policy=now)
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "fall into 2 groups" in verdict.reason


def test_a_law_passes_only_if_that_of_the_worst_group_does() -> None:
    """At 8 CPUs one run of nine takes three times as long, so its serial share is above the threshold."""
    sigma = 0.05
    of = {n: [1e6 * (1 + sigma * (n - 1)) / n] * 9 for n in (1, 2, 4, 8)}
    of[8][0] *= 3
    made = [seeded(n, samples) for n, samples in of.items()]
    gate = amdahl()
    assert decided(gate, *made, policy=replace(OLD, first=9, max_runs=9)).outcome is Word.PASS
    verdict = decided(gate, *made, policy=replace(POLICY, first=9, max_runs=9))
    assert verdict.outcome is Word.INCONCLUSIVE
    assert "the runs of smp8 fall into 2 groups" in verdict.reason


@pytest.mark.parametrize("metric", [WASTED, WASTED_LONGEST])
def test_wasted_time_passes_only_if_the_worst_group_does(metric: str) -> None:
    values = {WASTED: [0.001] * 9, WASTED_LONGEST: [10_000.0] * 9}
    values[metric][4] *= 100
    bare = seeded(2, [100.0] * 9)
    of = {}
    for name, each in values.items():
        changed = {"metric": OF_THREADS[name], "unit": OF_THREADS[name].unit, "samples": tuple(each)}
        of[name] = replace(bare.measurements["work"], **changed)  # type: ignore[arg-type]
    made = replace(bare, measurements={**bare.measurements, **of})
    gate = Gate("g", "work_conserving", None, cell(2), WASTED, None, 0.02, settings=(("longest", "100us"),))
    assert decided(gate, made, policy=replace(OLD, first=9, max_runs=9)).outcome is Word.PASS
    verdict = decided(gate, made, policy=replace(POLICY, first=9, max_runs=9))
    assert verdict.outcome is Word.INCONCLUSIVE
    assert metric in verdict.reason
    assert verdict.reason.endswith("; next: benchgate threads runs/0001-x runs/0005-x")


# ---- what is none


def test_what_is_far_below_a_limit_is_no_group_of_its_own() -> None:
    """Shares of 0.01% and of 0.05% where 2% are allowed."""
    verdict = decided(limit(at_most=1000.0), seeded(2, [1.0, 5.0, 1.0, 5.0, 5.0]))
    assert (verdict.outcome, "group" in verdict.reason) == (Word.PASS, False)


def test_what_the_clock_does_not_resolve_is_no_group() -> None:
    """Each figure may be off by 15%, so 100 and 145 may be one."""
    made = seeded(2, [100.0, 145.0, 100.0, 145.0, 100.0])
    blurred = {name: replace(of, blur=(0.15,) * 5) for name, of in made.measurements.items()}
    gate = limit(at_most=200.0)
    assert "fall into 2 groups" in decided(gate, made).reason
    assert "group" not in decided(gate, replace(made, measurements=blurred)).reason


def test_on_wall_time_a_single_run_is_named_and_decides_nothing() -> None:
    """It may be noise, which no rule drops and no rule turns into a verdict."""
    nine = replace(POLICY, first=9, max_runs=9)
    made = seeded(2, mixed(1, 9), lane=Lane.TCG)
    verdict = decided(limit(), made, policy=nine)
    assert verdict.outcome is Word.PASS
    assert "a run of primes-linux-smp2 stands alone: 100 ns (runs 0002, 0003, " in verdict.reason
    assert "180 ns (run 0001 alone)" in verdict.reason
    two = seeded(2, mixed(2, 9), lane=Lane.TCG)
    assert decided(limit(), two, policy=nine).outcome is Word.INCONCLUSIVE
