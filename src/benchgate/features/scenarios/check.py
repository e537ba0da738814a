"""Holds a scenario against what the guest's scheduler did, and computes the figures of its gates.

Takes a verified run, its files and its workload. If the threads were observed, gives the run with the
scenario's metrics, and without the metrics of threads that say nothing of it. Fails with VerifyError if the
scheduler did what the scenario does not allow, or the guest cannot have done what it says: threads on CPUs
where they may not run, more CPU time than a quota gives, a change at whose time the director did not run,
work outside of a group's phases, or more turns than instructions.

Nothing here is what the guest printed, but how many workers there are and how many turns they made. The
threads of the workers are the ones that the coordinator forked in the window, in order.

Bounds. A change counts from SETTLED_NS on, that of a CPU from HOTPLUG_NS on. A quota is kept if the threads
of its control group ran for at most the quota of each period that lies in a stretch without changes, one
quota more for a period that had begun, and OVERRUN_NS on each CPU, because the kernel looks at ticks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchgate.base.cells import Cell
from benchgate.base.errors import VerifyError
from benchgate.base.runs import VerifiedRun
from benchgate.base.text import counted
from benchgate.base.workload.metrics import (
    OF_THREADS,
    SCHED_WAIT,
    SECOND_NS,
    SETTLING,
    WASTED,
    WASTED_LONGEST,
)
from benchgate.base.workload.workloads import Workload
from benchgate.features.scenarios.scenario import (
    HOTPLUG_NS,
    LOOK_LIKE_WAITING,
    LOOKS_IDLE,
    Scenario,
    ScenarioGate,
    Subject,
    plan_params,
    scenario_of,
)
from benchgate.insn.log import MarkKind
from benchgate.insn.threads_log import ForkEvent
from benchgate.judge.accounts.threads.idleness import SchedulePauses
from benchgate.judge.accounts.threads.schedule import Schedule, ThreadLife
from benchgate.judge.run_files import RunFiles

SETTLED_NS = 5_000_000
OVERRUN_NS = 5_000_000
PROMPT_NS = 5_000_000
"""The director runs within this time of each change."""
APART_NS = 1_000_000
"""A thread may run for so long before its group begins, and after it has ended."""
LEAST_PER_TURN = 2
"""A turn is a multiplication and the loop around it."""
Span = tuple[int, int]


def with_scenario(run: VerifiedRun, files: RunFiles, workload: Workload) -> VerifiedRun:
    scenario, pauses = scenario_of(workload), files.pauses
    if scenario is None or pauses is None or pauses.schedule.is_cut:
        return run
    figures = scenario_metrics(run, files, scenario, pauses)
    left = _without(run, unknown(scenario))
    return replace(left, metrics={**left.metrics, **figures})


def scenario_metrics(
    run: VerifiedRun, files: RunFiles, scenario: Scenario, pauses: SchedulePauses
) -> Mapping[str, float]:
    require_plan(scenario, run.run.cell)
    seen = _seen(run, files, scenario, pauses)
    seen.check()
    seen.check_turns([worker.values.get("turns", 0) for worker in run.workers])
    return {gate.name: seen.figure(gate) for gate in scenario.gates}


def unknown(scenario: Scenario) -> Mapping[str, str]:
    """The metrics of threads that say nothing of a scheduler here, and why."""
    if scenario.has_quota:
        return dict.fromkeys(OF_THREADS, LOOK_LIKE_WAITING)
    return dict.fromkeys((WASTED, WASTED_LONGEST, SETTLING), LOOKS_IDLE) if scenario.takes_cpus else {}


def _without(run: VerifiedRun, metrics: Mapping[str, str]) -> VerifiedRun:
    histograms = {OF_THREADS[name].of for name in metrics if OF_THREADS[name].of == SCHED_WAIT}
    return replace(
        run,
        metrics={name: value for name, value in run.metrics.items() if name not in metrics},
        histograms={name: value for name, value in run.histograms.items() if name not in histograms},
        measured=run.measured - histograms,
        skipped={**run.skipped, **metrics},
    )


def require_plan(scenario: Scenario, cell: Cell) -> None:
    """The run had this scenario: a session that is judged again finds the file as it is now. Where it says
    nothing of CPUs, it means all that its guest has, so their number belongs to the plan."""
    if cell.cpus != scenario.cpus:
        raise VerifyError(
            f"the scenario {scenario.name} is of a guest with {counted(scenario.cpus, 'CPU')}, and the run "
            f"had {cell.cpus}"
        )
    asked = {**plan_params(scenario), "time_ns": scenario.length_ns}
    if asked != dict(cell.params):
        raise VerifyError(
            f"the run had another plan than the scenario {scenario.name} has now: its file has been changed"
        )


def _seen(run: VerifiedRun, files: RunFiles, scenario: Scenario, pauses: SchedulePauses) -> SeenScenario:
    begin = files.clock_log.first_mark(MarkKind.WORK_BEGIN)
    if begin is None:
        raise VerifyError("the record of threads has no work of the scenario")
    return SeenScenario(scenario, pauses, begin, _workers(files, pauses.schedule, len(run.workers)))


def _workers(files: RunFiles, schedule: Schedule, count: int) -> list[ThreadLife]:
    """The thread of each worker."""
    events = files.thread_events
    assert events is not None  # else there is no schedule
    opened = next((mark for mark in files.clock_log.marks if mark.kind == MarkKind.TOTAL_BEGIN), None)
    if opened is None:
        raise VerifyError("the record of threads has no window of the scenario")
    coordinator = schedule.thread_at(opened.vcpu, opened.time)
    every = (event for event in events.events if isinstance(event, ForkEvent))
    forks = [fork for fork in every if fork.parent == coordinator and fork.line > events.opened_line]
    if len(forks) != count:
        raise VerifyError(
            f"the guest reports {count} workers, but {len(forks)} threads were made by the one that began "
            "the window"
        )
    made = {(life.thread, life.phases[0].begin): life for life in schedule.lives}
    return [made[fork.thread, fork.time] for fork in forks]


@dataclass(frozen=True, slots=True)
class SeenScenario:
    scenario: Scenario
    pauses: SchedulePauses
    begin: int
    """Of the work, by the clock."""
    workers: Sequence[ThreadLife]

    @property
    def schedule(self) -> Schedule:
        return self.pauses.schedule

    def _span(self, begin_ns: int, end_ns: int) -> Span:
        return self.begin + begin_ns, min(self.begin + end_ns, self.schedule.end)

    def _lives(self, group: int) -> list[ThreadLife]:
        return [self.workers[worker] for worker in self.scenario.members(group)]

    # ---- what is not allowed

    def check(self) -> None:
        for number in range(len(self.scenario.groups)):
            self._check_places(number)
            self._check_phases(number)
        for number in range(len(self.scenario.controls)):
            self._check_quota(number)
        self._check_director()

    def check_turns(self, turns: Sequence[int]) -> None:
        """A turn takes instructions, so a thread without CPU time made none."""
        for worker, (made, life) in enumerate(zip(turns, self.workers, strict=True)):
            had = ran(life, (self.schedule.begin, self.schedule.end))
            if made * LEAST_PER_TURN > had:
                raise VerifyError(
                    f"worker {worker} says that it made {made:,} turns, but its thread ran for {had:,} ns"
                )

    def _stretches(self) -> list[Span]:
        """From each change to the next one, in ns since the work began."""
        times = sorted({0, *(change.at_ns for change in self.scenario.changes)})
        return list(zip(times, [*times[1:], self.scenario.length_ns], strict=True))

    def _settled(self, begin_ns: int) -> int:
        """From when on the changes of this time count."""
        cpus = any(change.at_ns == begin_ns and change.cpu is not None for change in self.scenario.changes)
        return begin_ns + (HOTPLUG_NS if cpus else SETTLED_NS if begin_ns else 0)

    def _check_places(self, group: int) -> None:
        for begin, end in self._stretches():
            allowed = self.scenario.allowed(group, begin)
            span = self._span(self._settled(begin), end)
            for life in self._lives(group):
                for _, phase, since, until in life.within(*span):
                    if phase.state == "running" and not allowed >> phase.cpu & 1:
                        raise VerifyError(
                            f"thread {life.thread} of group {self.scenario.groups[group].name} ran on CPU "
                            f"{phase.cpu} for {until - since:,} ns, {since - self.begin:,} ns after the work "
                            f"began; from {begin:,} ns on it may run on {_listed(allowed)} only"
                        )

    def _check_phases(self, group: int) -> None:
        of = self.scenario.groups[group]
        spans = [(0, of.begin_ns, APART_NS)]
        if of.end_ns is not None:
            spans.append((of.end_ns, self.scenario.length_ns, APART_NS + of.run_ns))
        for begin, end, most in spans:
            for life in self._lives(group):
                had = ran(life, self._span(begin, end)) if begin < end else 0
                if had > most:
                    raise VerifyError(
                        f"thread {life.thread} of group {of.name} ran for {had:,} ns from {begin:,} to "
                        f"{end:,} ns, outside of its phases"
                    )

    def _check_quota(self, control: int) -> None:
        for begin, end in self._stretches():
            quota, period = self.scenario.quota_of(control, begin)
            if not quota or end - begin <= SETTLED_NS:
                continue
            span = self._span(begin + (SETTLED_NS if begin else 0), end)
            most = quota * ((span[1] - span[0]) / period + 1) + OVERRUN_NS * self.scenario.cpus
            every = range(len(self.scenario.groups))
            groups = [number for number in every if self.scenario.control_of(number, begin) == control]
            had = sum(ran(life, span) for group in groups for life in self._lives(group))
            if had > most:
                raise VerifyError(
                    f"control group {self.scenario.controls[control].name} ran for {had:,} ns in the "
                    f"{span[1] - span[0]:,} ns from {span[0] - self.begin:,} ns on; with {quota:,} ns in "
                    f"each {period:,} ns it may for at most {most:,.0f}"
                )

    def _check_director(self) -> None:
        if not self.scenario.changes:
            return
        for time in sorted({change.at_ns for change in self.scenario.changes}):
            span = self._span(time, time + PROMPT_NS)
            if not ran(self.workers[-1], span):
                raise VerifyError(
                    f"the director did not run within {PROMPT_NS:,} ns of the changes at {time:,} ns"
                )

    # ---- figures

    def figure(self, gate: ScenarioGate) -> float:
        span = self._span(*self.scenario.span(gate.phase, gate.within_ns))
        groups = {name: self._lives(self.scenario.group(name)) for name in gate.weights}
        first = next(iter(groups.values()), [])
        match gate.seen:
            case Subject.SHARE:
                times = [_sum(lives, span) for lives in groups.values()]
                return times[0] / sum(times) if sum(times) else 0.0
            case Subject.FAIRNESS:
                each = self._weighted(groups, gate, span)
                return min(each) / max(each) if max(each) else 0.0
            case Subject.CPUS:
                return _sum(first, span) / (span[1] - span[0])
            case Subject.MOVES:
                moves = sum(span[0] <= time < span[1] for life in first for time, _, _ in life.moves)
                return moves * SECOND_NS / (span[1] - span[0])
            case Subject.LATENCY:
                waits = sorted(self._waits(first, span))
                return float(waits[max(math.ceil(len(waits) * gate.percent / 100), 1) - 1]) if waits else 0.0
            case Subject.WASTED:
                return self._wasted(span)

    def _weighted(
        self, groups: Mapping[str, Sequence[ThreadLife]], gate: ScenarioGate, span: Span
    ) -> list[float]:
        if len(groups) == 1:
            return [float(ran(life, span)) for lives in groups.values() for life in lives]
        return [_sum(lives, span) / gate.weights[name] for name, lives in groups.items()]

    def _waits(self, lives: Sequence[ThreadLife], span: Span) -> Iterator[int]:
        """The waits for a CPU, as far as they lie in the span."""
        mine = {id(life) for life in lives}
        for wait in self.pauses.waits:
            begin, end = max(wait.begin, span[0]), min(wait.end, span[1])
            if begin < end and id(self.schedule.lives[wait.life]) in mine:
                yield end - begin

    def _wasted(self, span: Span) -> float:
        inside = (min(of.end, span[1]) - max(of.begin, span[0]) for of in self.pauses.wasted)
        lost = sum(max(0, length) for length in inside)
        return lost / ((span[1] - span[0]) * self.schedule.vcpus)


def ran(life: ThreadLife, span: Span) -> int:
    """For how long a thread ran between two times."""
    return sum(until - since for _, phase, since, until in life.within(*span) if phase.state == "running")


def _sum(lives: Iterable[ThreadLife], span: Span) -> int:
    return sum(ran(life, span) for life in lives)


def _listed(mask: int) -> str:
    return "CPU " + ", ".join(str(cpu) for cpu in range(mask.bit_length()) if mask >> cpu & 1)
