"""A scenario against schedules that are made by hand: its figures, and each thing that is not allowed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Cell, Mode
from benchgate.base.errors import VerifyError
from benchgate.features.scenarios import scenariofile
from benchgate.features.scenarios.check import SeenScenario, require_plan
from benchgate.features.scenarios.scenario import (
    ControlGroup,
    CpuState,
    Limits,
    RunPolicy,
    Scenario,
    ScenarioChange,
    ScenarioGate,
    ScenarioPhase,
    Subject,
    ThreadGroup,
    ThreadSettings,
    WorkKind,
)
from benchgate.judge.accounts.threads.idleness import SchedulePauses
from benchgate.judge.accounts.threads.schedule import CpuRun, Phase, Schedule, State, ThreadLife

MS = 1_000_000
BEGIN = 7 * MS
"""Of the work; the record begins before."""
Part = tuple[int, State, int]
"""From when on, in ms since the work began; the state; the CPU."""


def life(thread: int, *parts: Part) -> ThreadLife:
    phases = [Phase(0, "blocked", 0), *(Phase(BEGIN + at * MS, state, cpu) for at, state, cpu in parts)]
    return ThreadLife(thread, phases)


def seen(scenario: Scenario, *lives: ThreadLife) -> SeenScenario:
    """CPUs are idle wherever no life runs."""
    end = BEGIN + scenario.length_ns
    runs = []
    for cpu in range(scenario.cpus):
        mine = sorted(
            (since, until, live.thread)
            for live in lives
            for _, phase, since, until in live.within(0, end)
            if phase.state == "running" and phase.cpu == cpu
        )
        edges = [0, *(time for since, until, _ in mine for time in (since, until)), end]
        busy = [CpuRun(*one) for one in mine]
        idle = [CpuRun(a, b, 0) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]
        runs.append(tuple(sorted((*busy, *idle), key=lambda run: run.begin)))
    zeros = (0,) * scenario.cpus
    schedule = Schedule(
        scenario.cpus, 0, end, False, tuple(lives), tuple(runs), ((),) * scenario.cpus, (), zeros
    )
    return SeenScenario(scenario, SchedulePauses(schedule), BEGIN, lives)


def group(name: str, threads: int = 1, **more: object) -> ThreadGroup:
    return replace(ThreadGroup(name, threads, WorkKind.SPIN, 20_000), **more)  # type: ignore[arg-type]


def scenario(*groups: ThreadGroup, cpus: int = 2, length: int = 100, **more: object) -> Scenario:
    made = Scenario("one", "a fault", cpus, length * MS, groups, phases=(ScenarioPhase("start", 0),))
    return replace(made, **more)  # type: ignore[arg-type]


PHASES = (ScenarioPhase("start", 0), ScenarioPhase("later", 50 * MS))


def gate(of: Subject, *groups: str, **more: object) -> ScenarioGate:
    made = ScenarioGate("figure", of, "start", dict.fromkeys(groups, 1))
    return replace(made, **more)  # type: ignore[arg-type]


# ---- figures

TWO = scenario(group("a"), group("b", 2), phases=PHASES)
A = life(1, (0, "running", 0), (60, "runnable", 0), (90, "running", 0))
B1 = life(2, (0, "running", 1), (40, "blocked", 1))
B2 = life(3, (0, "runnable", 0), (60, "running", 0), (90, "runnable", 0))


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        # to 50 ms: a ran for 50, b for 40 and 0; behind it: a for 10 and 10, b for 0 and 30
        (gate(Subject.SHARE, "a", "b"), 50 / 90),
        (gate(Subject.SHARE, "b", "a", phase="later"), 30 / 50),
        (gate(Subject.SHARE, "b", "a", phase="later", within_ns=10 * MS), 30 / 40),
        (gate(Subject.CPUS, "b"), 40 / 50),
        (gate(Subject.CPUS, "a", phase="later", within_ns=30 * MS), 10 / 20),
        (gate(Subject.FAIRNESS, "b"), 0.0),
        (gate(Subject.FAIRNESS, weights={"a": 5, "b": 2}, phase="later"), 4 / 15),
        (gate(Subject.FAIRNESS, weights={"a": 5, "b": 4}), 1.0),
        # of b one thread waits from the begin to 60 ms, and for the last 10
        (gate(Subject.LATENCY, "b"), 50 * MS),
        (gate(Subject.LATENCY, "b", phase="later"), 10 * MS),
        (gate(Subject.LATENCY, "b", phase="later", within_ns=5 * MS), 10 * MS),
        (gate(Subject.LATENCY, "b", phase="later", percent=50.0), 10 * MS),
        (gate(Subject.LATENCY, "a"), 0.0),
        # CPU 1 is idle from 40 ms on, beside a thread that waits on CPU 0
        (gate(Subject.WASTED), 10 / 100),
        (gate(Subject.WASTED, phase="later"), 50 / 100),
        (gate(Subject.MOVES, "a"), 0.0),
    ],
)
def test_figures_are_of_one_phase(asked: ScenarioGate, value: float) -> None:
    assert seen(TWO, A, B1, B2).figure(asked) == pytest.approx(value)


def test_moves_are_counted_for_a_second() -> None:
    mover = life(1, (0, "running", 0))
    mover.moves.extend((BEGIN + at * MS, 0, 1) for at in (-1, 0, 49, 50))
    assert seen(scenario(group("a"), phases=PHASES), mover).figure(gate(Subject.MOVES, "a")) == 2 / 0.05


def test_threads_that_never_ran_have_no_share() -> None:
    waits = life(1, (0, "runnable", 0))
    alone = seen(scenario(group("a"), group("b")), waits, waits)
    assert alone.figure(gate(Subject.SHARE, "a", "b")) == 0
    assert alone.figure(gate(Subject.FAIRNESS, "a", "b")) == 0
    assert alone.figure(gate(Subject.LATENCY, "a")) == 100 * MS


# ---- what is not allowed


def test_nothing_is_said_of_what_is_allowed() -> None:
    seen(TWO, A, B1, B2).check()


BOUND = scenario(
    group("a", settings=ThreadSettings(cpus=0b01)),
    changes=(ScenarioChange(50 * MS, group=0, settings=ThreadSettings(cpus=0b10)),),
)
DIRECTOR = life(9, (50, "running", 1), (51, "blocked", 1))


def test_a_thread_may_take_a_moment_to_leave() -> None:
    seen(BOUND, life(1, (0, "running", 0), (54, "running", 1)), DIRECTOR).check()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            [(0, "running", 0), (10, "running", 1), (12, "running", 0), (50, "running", 1)],
            "thread 1 of group a ran on CPU 1 for 2,000,000 ns, 10,000,000 ns after the work began; from 0 "
            "ns on it may run on CPU 0 only",
        ),
        (
            [(0, "running", 0), (57, "running", 1)],
            "ran on CPU 0 for 2,000,000 ns, 55,000,000 ns after .* 50,000,000 ns on it may run on CPU 1 only",
        ),
    ],
)
def test_a_thread_elsewhere_is_refused(parts: list[Part], said: str) -> None:
    with pytest.raises(VerifyError, match=said):
        seen(BOUND, life(1, *parts), DIRECTOR).check()


def test_a_thread_leaves_a_cpu_that_was_taken_away() -> None:
    of = scenario(
        group("a"),
        length=400,
        changes=(
            ScenarioChange(50 * MS, cpu=1, state=CpuState.OFFLINE),
            ScenarioChange(200 * MS, cpu=1, state=CpuState.ONLINE),
        ),
    )
    leads = life(9, (50, "running", 0), (51, "blocked", 0), (200, "running", 0), (201, "blocked", 0))
    seen(of, life(1, (0, "running", 1), (150, "running", 0), (202, "running", 1)), leads).check()
    with pytest.raises(
        VerifyError, match=r"ran on CPU 1 for 1,000,000 ns, 150,000,000 ns after .* on CPU 0 only"
    ):
        seen(of, life(1, (0, "running", 1), (151, "running", 0)), leads).check()


def test_a_director_that_did_not_run_is_refused() -> None:
    late = life(9, (56, "running", 1), (57, "blocked", 1))
    with pytest.raises(
        VerifyError, match="the director did not run within 5,000,000 ns of the changes at 50"
    ):
        seen(BOUND, life(1, (0, "running", 0), (50, "running", 1)), late).check()


def capped(quota: int, end: int) -> SeenScenario:
    limits = Limits(quota_ns=quota * MS, period_ns=20 * MS)
    of = scenario(
        group("a", settings=ThreadSettings(into=1)), cpus=1, controls=(ControlGroup("box", limits),)
    )
    return seen(of, life(1, (0, "running", 0), (end, "blocked", 0)))


def test_a_quota_is_kept_up_to_its_bound() -> None:
    # 5 ms in each of 5 periods, 5 for one that had begun, and 5 of overrun
    capped(5, 35).check()
    with pytest.raises(VerifyError, match="control group box ran for 36,000,000 ns in the 100,000,000 ns"):
        capped(5, 36).check()
    capped(0, 100).check()


def test_a_quota_counts_from_its_change_on() -> None:
    limits = Limits(quota_ns=5 * MS, period_ns=20 * MS)
    of = scenario(
        group("a", settings=ThreadSettings(into=1)),
        controls=(ControlGroup("box", Limits(weight=100)),),
        changes=(ScenarioChange(50 * MS, control=0, limits=limits),),
    )
    # from 55 ms on, 45 ms have 2.25 periods: 16.25 ms, and 5 on each of 2 CPUs
    seen(of, life(1, (0, "running", 0), (81, "blocked", 0)), DIRECTOR).check()
    with pytest.raises(
        VerifyError, match=r"ran for 27,000,000 ns in the 45,000,000 ns .* at most 26,250,000"
    ):
        seen(of, life(1, (0, "running", 0), (82, "blocked", 0)), DIRECTOR).check()


@pytest.mark.parametrize(
    ("begin", "end", "said"),
    [(48, 60, "from 0 to 50,000,000"), (60, 83, "ran for 3,000,000 ns from 80,000,000 to 100,000,000 ns")],
)
def test_work_outside_of_its_phases_is_refused(begin: int, end: int, said: str) -> None:
    of = scenario(group("a", begin_ns=50 * MS, end_ns=80 * MS))
    seen(of, life(1, (50, "running", 0), (80, "blocked", 0))).check()
    with pytest.raises(VerifyError, match=said):
        seen(of, life(1, (begin, "running", 0), (end, "blocked", 0))).check()


def test_more_turns_than_instructions_are_refused() -> None:
    of = seen(scenario(group("a")), life(1, (0, "running", 0), (10, "blocked", 0)))
    of.check_turns([5 * MS])
    with pytest.raises(VerifyError, match="that it made 5,000,001 turns, but its thread ran for 10,000,000"):
        of.check_turns([5 * MS + 1])


def _cell(params: dict[str, int | str]) -> Cell:
    return Cell("linux", "scenario-one", Mode.PROCESS, tuple(params.items()), 2)


def test_a_run_of_another_plan_is_refused() -> None:
    made: dict[str, int | str] = {"p1": "Gt1r5000", "p2": ".", "p3": ".", "p4": ".", "time_ns": 100 * MS}
    require_plan(scenario(group("a")), _cell(made))
    changes: tuple[dict[str, int | str], ...] = ({"time_ns": 99 * MS}, {"p1": "Gt2r5000"})
    for wrong in ({**made, **change} for change in changes):
        with pytest.raises(
            VerifyError, match="another plan than the scenario one has now: its file has been"
        ):
            require_plan(scenario(group("a")), _cell(wrong))
    for cpus in (1, 4):
        with pytest.raises(VerifyError, match=f"is of a guest with 2 CPUs, and the run had {cpus}"):
            require_plan(scenario(group("a")), replace(_cell(made), cpus=cpus))


def test_the_scenario_of_a_file_is_judged() -> None:
    text = (
        "name: one\nfinds: a fault\ncpus: 2\nlength: 100ms\n"
        "groups: {a: {work: spin, policy: fifo, into: box}}\n"
        "controls: {box: {quota: 5ms}}\ngates: {used: {of: cpus, group: a, at_most: 0.3}}\n"
    )
    of = scenariofile.parse(text, Path("one.yaml"))
    assert of.groups[0].settings == ThreadSettings(policy=RunPolicy.FIFO, priority=1, into=1)
    ran = seen(of, life(1, (0, "running", 0), (25, "blocked", 0)))
    ran.check()
    assert ran.figure(of.gates[0]) == 0.25
