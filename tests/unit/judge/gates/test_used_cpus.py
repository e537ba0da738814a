"""A speedup of N needs that the work ran on N CPUs, and that the base did nothing but the work."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane, Window
from benchgate.base.gates import Arm, GateInput, Word
from benchgate.base.runs import CpuUse, CpuWork, OutsideUse
from benchgate.base.statistics.stats import Interval
from benchgate.judge import gates
from benchgate.judge.gates.used_cpus import bound, outside
from tests.unit.factories import POLICY, arm, cell, control, speedup


def use(awake: float, worked: float | None = None) -> CpuUse:
    return CpuUse(Interval(awake, awake), None if worked is None else Interval(worked, worked))


def on_the_host(most: float) -> CpuUse:
    """The use that is known in wall time: it has no least."""
    return CpuUse(Interval(0.0, most))


def used(cpus: int, work: float, cpu_use: CpuUse | None, **changes: object) -> Arm:
    made = arm(cell(cpus), [work] * 5, lane=Lane.INSN, unit="insn")
    did = CpuWork({Window.WORK: cpu_use} if cpu_use else {}, **changes)  # type: ignore[arg-type]
    work_of = replace(made.measurements["work"], cpu_work=(did,) * 5)
    return replace(made, measurements={**made.measurements, "work": work_of})


def judged(base: CpuUse | None, other: CpuUse | None, ratio: float = 2.0, **changes: object) -> Word:
    arms = [used(1, ratio * 1e9, base, **changes), used(2, 1e9, other, **changes)]
    measured = GateInput({one.cell.id: one for one in arms}, POLICY, {})
    return gates.judge(speedup(2, 1.1), measured).verdict.outcome


@pytest.mark.parametrize(
    ("base", "other", "ratio", "word"),
    [
        # a base of interrupts, and both workers on one CPU
        (use(1, 1), use(1, 1), 2.0, Word.INVALID),
        # the same, and the idle CPU polls
        (use(1, 1), use(2, 1), 2.0, Word.INVALID),
        # a base that is halted half of the time
        (use(0.5, 0.5), use(1, 1), 2.0, Word.INVALID),
        # a base in an emulated lane
        (on_the_host(1), on_the_host(1.02), 2.0, Word.INVALID),
        (on_the_host(1), on_the_host(1.99), 2.0, Word.PASS),
        # honest
        (use(1, 1), use(1.99, 1.98), 2.0, Word.PASS),
        (use(1, 1), use(1.5, 1.5), 1.5, Word.PASS),
        (use(1, 0.92), use(2, 1.85), 1.985, Word.PASS),  # tasks of tern: `pause` in a yield is its work
        (None, use(1, 1), 2.0, Word.PASS),  # not known
        (use(1, 1), None, 2.0, Word.PASS),
    ],
)
def test_a_ratio_is_bounded_by_the_cpus_that_were_used(
    base: CpuUse | None, other: CpuUse | None, ratio: float, word: Word
) -> None:
    assert judged(base, other, ratio) is word


def test_the_tolerance_is_that_of_the_policy() -> None:
    assert judged(use(1, 1), use(1.5, 1.5), 1.57) is Word.PASS
    assert judged(use(1, 1), use(1.5, 1.5), 1.58) is Word.INVALID


def test_workers_that_take_turns_switch_less_often_on_more_cpus() -> None:
    assert judged(use(1, 1), use(1.926, 1.926), 2.023, takes_turns=True) is Word.PASS  # service, spread
    assert judged(use(1, 1), use(1, 1), 2.0, takes_turns=True) is Word.INVALID


def test_a_workload_that_sleeps_may_leave_the_base_idle() -> None:
    assert judged(use(0.8, 0.8), use(1.6, 1.6), 2.0) is Word.INVALID
    assert judged(use(0.8, 0.8), use(1.6, 1.6), 2.0, sleeps=True) is Word.PASS
    assert judged(use(0.8, 0.8), use(0.8, 0.8), 2.0, sleeps=True) is Word.INVALID
    assert judged(on_the_host(1), on_the_host(1), 2.0, sleeps=True) is Word.PASS  # how idle is not known


def test_a_base_of_several_cpus_counts_by_those_that_it_used() -> None:
    ones, twos = (used(n, 1e9, use(n * 0.9, n * 0.9)).measurements["work"] for n in (2, 4))
    cpu_bound = bound(ones, twos, 5)
    assert cpu_bound is not None
    assert cpu_bound.most == pytest.approx(2.0)


def test_only_the_runs_of_the_look_count() -> None:
    ones = used(1, 2e9, use(1, 1)).measurements["work"]
    did = [CpuWork(), *(CpuWork({Window.WORK: use(n)}) for n in (1, 1, 2))]
    twos = replace(used(2, 1e9, None).measurements["work"], cpu_work=tuple(did))
    assert [getattr(bound(ones, twos, look), "most", None) for look in (1, 2, 3, 4)] == [None, 1, 1, 2]


def test_the_sentence_has_both_sides() -> None:
    arms = [used(1, 2e9, use(1, 0.98)), used(2, 1e9, use(1.01, 1.0))]
    measured = GateInput({one.cell.id: one for one in arms}, POLICY, {})
    said = gates.judge(speedup(2, 1.1), measured).verdict.reason
    assert re.search(r"2\.00 \[2\.00, 2\.00\], above 1\.06, but only 1\.01 CPUs .* 1\.00 in that", said)


def test_a_control_that_scales_less_than_its_cpus_is_not_bounded() -> None:
    arms = [used(1, 1e9, use(1, 1)), used(2, 1e9, use(2, 2))]
    measured = GateInput({one.cell.id: one for one in arms}, POLICY, {})
    assert gates.judge(control(), measured).verdict.outcome is Word.PASS


@pytest.mark.parametrize(
    ("ratio", "changes", "machine", "word"),
    [
        (2.019, {}, "", Word.PASS),
        (2.021, {}, "", Word.INVALID),
        (2.021, {"takes_turns": True}, "", Word.PASS),
        (2.021, {}, "desktop8", Word.PASS),
        (2.11, {}, "desktop8", Word.INVALID),
    ],
)
def test_nothing_is_superlinear_on_an_ideal_machine(
    ratio: float, changes: dict[str, object], machine: str, word: Word
) -> None:
    arms = [used(1, ratio * 1e9, None, **changes), used(2, 1e9, None, **changes)]
    named = {}
    for one in arms:
        place = replace(one.cell, system=f"linux-{machine}" if machine else "linux")
        work = replace(one.measurements["work"], cell=place)
        named[place.id] = replace(one, cell=place, measurements={"work": work})
    first, second = (value.cell for value in named.values())
    gate = replace(speedup(2, 1.1), base=first, cell=second)
    assert gates.judge(gate, GateInput(named, POLICY, {})).verdict.outcome is word


# ---- an arm with more CPUs does no more work outside of its window

INSIDE = 2_000_000
"""Of two CPUs: each has a share of 1,000,000."""


def arm_with(cpus: int, *each: OutsideUse | None) -> Arm:
    made = arm(cell(cpus), [19e6 / cpus] * 5, lane=Lane.INSN, unit="insn")
    work = replace(
        made.measurements["work"], cpu_work=tuple(CpuWork(outside=outside_use) for outside_use in each)
    )
    return replace(made, measurements={**made.measurements, "work": work})


def executed(busiest: int, together: int) -> OutsideUse:
    return OutsideUse(busiest, together, INSIDE)


def said(base: OutsideUse | None, other: OutsideUse | None) -> str:
    ones, twos = (arm_with(n, outside_use).measurements["work"] for n, outside_use in ((1, base), (2, other)))
    return outside(ones, twos, 5)


@pytest.mark.parametrize(
    ("busiest", "together", "who"),
    [
        (50_000, 50_000, ""),
        (60_000, 60_000, ""),
        (
            60_001,
            60_001,
            "its busiest CPU executed 60001 instructions at smp2 and 50000 at smp1, and at most 10000",
        ),
        (50_000, 150_000, ""),  # another CPU polls while the program starts
        (
            50_000,
            150_001,
            "all CPUs executed 150001 instructions at smp2 and 50000 at smp1, and at most 100000",
        ),
        (10_000, 20_000, ""),
    ],
)
def test_the_work_outside_may_grow_by_one_percent_of_a_cpus_share(
    busiest: int, together: int, who: str
) -> None:
    seen = said(executed(50_000, 50_000), executed(busiest, together))
    assert who in seen
    assert bool(seen) is bool(who)


WORK = 1_900_000
"""Of INSIDE, so much is no polling: one CPU needs it all for the work, and two have done it in the window."""


@pytest.mark.parametrize(
    ("polled_inside", "together", "who"),
    [
        (0, 100_000, ""),  # four times the window's work was polled, and none of it counts
        (INSIDE - WORK, 100_000, ""),
        (INSIDE - WORK, 200_001, "all CPUs executed 200001 instructions at smp2 and 100000 at smp1"),
        # the loop does half of the work in the window: what is missing there may be done outside, too
        (1_000_000, 100_000, "all CPUs executed 620000 instructions at smp2 and 100000 at smp1"),
    ],
)
def test_polling_is_no_work_unless_the_work_is_done_in_that_loop(
    polled_inside: int, together: int, who: str
) -> None:
    base = OutsideUse(50_000, 100_000, WORK, polled=4_000_000)
    other = OutsideUse(50_000, together, INSIDE, polled=8_000_000, polled_inside=polled_inside)
    seen = said(base, other)
    assert who in seen
    assert bool(seen) is bool(who)


def test_what_is_not_known_says_nothing() -> None:
    assert not said(None, executed(10**6, 10**6))
    assert not said(executed(0, 0), None)


def test_the_runs_that_say_least_count() -> None:
    ones = arm_with(1, executed(50_000, 50_000), executed(70_000, 70_000)).measurements["work"]
    twos = arm_with(2, executed(75_000, 75_000), executed(90_000, 90_000)).measurements["work"]
    assert not outside(ones, twos, 5)
    assert outside(ones, twos, 1)


def test_the_verdict_is_invalid() -> None:
    arms = [arm_with(1, *[executed(1000, 1000)] * 5), arm_with(2, *[executed(500_000, 500_000)] * 5)]
    verdict = gates.judge(speedup(), GateInput({one.cell.id: one for one in arms}, POLICY, {})).verdict
    assert verdict.outcome is Word.INVALID
    assert (
        "but outside of its window, from the typed line to its begin and from its end to the"
        in verdict.reason
    )
