"""A scenario: groups of threads with a time line, and what must come of it, as types.

scenariofile.py reads the file; guest/workloads/scenario/ carries it out; check.py holds it against what the
guest's scheduler did. Takes plain values, gives frozen objects. `plan_text` writes
what the guest must know as one word of letters and numbers. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from benchgate.base.workload.workloads import Workload

PREFIX = "scenario"
"""The workload that every scenario is one of: `scenario-NAME`."""
PLAN_PARAMS = ("p1", "p2", "p3", "p4")
PLAN_PIECE = 64
"""What one value on the wire holds."""
NOTHING = "."
"""The value of a parameter that is not needed."""
TURN_NS = 4
"""The instructions of one turn (guest/work.h), each of which is 1 ns of the ideal machine."""
MOST_GROUPS, MOST_LIMITS, MOST_CHANGES, MOST_PHASES, MOST_THREADS, MOST_CPUS = 8, 4, 16, 16, 60, 16
US = 1000
LOOK_LIKE_WAITING = "threads that a quota has stopped look like threads that wait"
LOOKS_IDLE = "a CPU that was taken away looks like an idle one"
HOTPLUG_NS = 100_000_000
"""Linux takes 20 to 60 ms to take a CPU away or to give it back, most of it waits for ticks."""
NICE_ZERO = 20
"""Nice values are written from 0 on."""


class WorkKind(StrEnum):
    """What a thread does in each round, beside its turns."""

    SPIN = "spin"
    """Nothing else."""
    SLEEP = "sleep"
    """It sleeps for `every`."""
    BURST = "burst"
    """It sleeps until `every` has passed since the last round was due."""
    PIPE = "pipe"
    """Two threads send each other a message by turns."""
    CHAIN = "chain"
    """The threads of the group wake each other in a ring, by a futex."""
    YIELD = "yield"
    """It gives its CPU to another thread by sched_yield."""
    FAULTS = "faults"
    """It touches `count` fresh pages and gives them back."""
    CALLS = "calls"
    """It makes `count` system calls."""


TIMED = (WorkKind.SLEEP, WorkKind.BURST)
COUNTED = (WorkKind.FAULTS, WorkKind.CALLS)


class RunPolicy(StrEnum):
    """The scheduling policies of Linux."""

    OTHER = "other"
    BATCH = "batch"
    IDLE = "idle"
    FIFO = "fifo"
    RR = "rr"


REAL_TIME = (RunPolicy.FIFO, RunPolicy.RR)


class Subject(StrEnum):
    """What a gate of a scenario is about, as the thread view has it."""

    SHARE = "share"
    """The CPU time of a group, as a part of that of `among`."""
    FAIRNESS = "fairness"
    """The smallest CPU time for its weight over the largest one: of groups, or of the threads of one."""
    CPUS = "cpus"
    """The CPU time of a group over the time: how many CPUs it uses."""
    LATENCY = "latency"
    """How long the threads of a group waited for a CPU, in ns."""
    WASTED = "wasted"
    """The part of all CPUs' time that was idle although a thread waited that may run there."""
    MOVES = "moves"
    """How often threads of a group came to another CPU, per second."""


@dataclass(frozen=True, slots=True)
class ThreadSettings:
    """Where and how threads run; None and 0 leave it as it is."""

    nice: int | None = None
    policy: RunPolicy | None = None
    priority: int = 0
    """The priority of a policy for real time, from 1."""
    cpus: int = 0
    """The mask of the CPUs that it may use."""
    into: int | None = None
    """The number of a control group, from 1; 0: none."""

    @property
    def is_empty(self) -> bool:
        return self == ThreadSettings()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a control group has; None and 0 leave it as it is."""

    weight: int = 0
    quota_ns: int | None = None
    """CPU time in each period; 0: no limit."""
    period_ns: int = 0
    cpus: int = 0
    """The mask of the CPUs that its threads may use."""

    @property
    def is_empty(self) -> bool:
        return self == Limits()


@dataclass(frozen=True, slots=True)
class ThreadGroup:
    name: str
    threads: int
    work: WorkKind
    run_ns: int
    """How long a round computes, on the ideal machine."""
    every_ns: int = 0
    count: int = 0
    settings: ThreadSettings = ThreadSettings()
    begin_ns: int = 0
    end_ns: int | None = None
    """When its threads end; None: with the scenario."""

    @property
    def turns(self) -> int:
        return max(1, self.run_ns // TURN_NS)


@dataclass(frozen=True, slots=True)
class ControlGroup:
    name: str
    limits: Limits


class CpuState(StrEnum):
    """Whether the kernel has a CPU (hotplug)."""

    OFFLINE = "offline"
    ONLINE = "online"


@dataclass(frozen=True, slots=True)
class ScenarioChange:
    """At one time, the settings of a group of threads, the limits of a control group, or whether a CPU is
    there."""

    at_ns: int
    group: int | None = None
    settings: ThreadSettings = ThreadSettings()
    control: int | None = None
    """The number of a control group, from 0."""
    limits: Limits = Limits()
    cpu: int | None = None
    state: CpuState = CpuState.ONLINE


@dataclass(frozen=True, slots=True)
class ScenarioPhase:
    name: str
    begin_ns: int


@dataclass(frozen=True, slots=True)
class ScenarioGate:
    """What a metric of the scenario is, and what it must be."""

    name: str
    seen: Subject
    phase: str
    weights: Mapping[str, int] = field(default_factory=dict)
    """The groups of threads that it is about, the first one first."""
    within_ns: int = 0
    """How long after the begin of its phase the figure begins to count."""
    percent: float = 100.0
    """Which percentile of `latency` it is."""
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    finds: str
    """The fault of a scheduler that this scenario finds."""
    cpus: int
    length_ns: int
    groups: tuple[ThreadGroup, ...]
    controls: tuple[ControlGroup, ...] = ()
    phases: tuple[ScenarioPhase, ...] = ()
    """The phases in the order of time; the first one begins at 0."""
    changes: tuple[ScenarioChange, ...] = ()
    """The changes in the order of time."""
    gates: tuple[ScenarioGate, ...] = ()

    @property
    def needs_control(self) -> bool:
        """Whether it sets what only a system with that service can."""
        placed = any(not group.settings.is_empty for group in self.groups)
        return bool(self.changes or self.controls) or placed

    @property
    def has_quota(self) -> bool:
        """Whether threads may be stopped by a quota: they then look like threads that wait for a CPU."""
        limits = [control.limits for control in self.controls] + [change.limits for change in self.changes]
        return any(limit.quota_ns for limit in limits)

    @property
    def takes_cpus(self) -> bool:
        """Whether a CPU is taken away from the kernel."""
        return any(change.cpu is not None for change in self.changes)

    @property
    def workers(self) -> int:
        """The number of all threads; one more, the director, makes the changes if there are any."""
        return sum(group.threads for group in self.groups) + bool(self.changes)

    def group(self, name: str) -> int:
        return [thread_group.name for thread_group in self.groups].index(name)

    def members(self, group: int) -> range:
        """The workers that are threads of this group."""
        first = sum(thread_group.threads for thread_group in self.groups[:group])
        return range(first, first + self.groups[group].threads)

    def online(self, at_ns: int) -> int:
        """The mask of the CPUs that are there, after the changes of that time."""
        away: set[int] = set()
        for change in self.changes:
            if change.at_ns <= at_ns and change.cpu is not None:
                (away.add if change.state is CpuState.OFFLINE else away.discard)(change.cpu)
        return (1 << self.cpus) - 1 - sum(1 << cpu for cpu in away)

    def is_whole(self, begin_ns: int, end_ns: int) -> bool:
        """Whether no CPU is away in this time, or on its way."""
        changes = [change for change in self.changes if change.cpu is not None]
        on_the_way = any(change.at_ns < end_ns and begin_ns < change.at_ns + HOTPLUG_NS for change in changes)
        return not on_the_way and self.online(begin_ns) == (1 << self.cpus) - 1

    def allowed(self, group: int, at_ns: int) -> int:
        """The mask of the CPUs on which the threads of a group may run, after the changes of that time."""
        every = (1 << self.cpus) - 1
        into, cpus = self.groups[group].settings.into, self.groups[group].settings.cpus or every
        limits = [control.limits.cpus or every for control in self.controls]
        for change in self.changes:
            if change.at_ns > at_ns:
                break
            if change.control is not None:
                limits[change.control] = change.limits.cpus or limits[change.control]
            elif change.group == group:
                cpus = change.settings.cpus or cpus
                into = into if change.settings.into is None else change.settings.into
        return cpus & (limits[into - 1] if into else every) & self.online(at_ns)

    def control_of(self, group: int, at_ns: int) -> int | None:
        """The place of the control group in which a group of threads is, after the changes of that time."""
        into = self.groups[group].settings.into
        for change in self.changes:
            if change.at_ns <= at_ns and change.group == group and change.settings.into is not None:
                into = change.settings.into
        return into - 1 if into else None

    def quota_of(self, control: int, at_ns: int) -> tuple[int, int]:
        """The quota and the period of a control group, after the changes of that time; 0: no quota."""
        limits = [self.controls[control].limits]
        limits += [
            change.limits for change in self.changes if change.control == control and change.at_ns <= at_ns
        ]
        said = [limit for limit in limits if limit.quota_ns is not None]
        return (said[-1].quota_ns or 0, said[-1].period_ns) if said else (0, 0)

    def span(self, phase: str, within_ns: int = 0) -> tuple[int, int]:
        """From when until when a phase lasts, in ns since the work began."""
        at = [scenario_phase.name for scenario_phase in self.phases].index(phase)
        end = self.phases[at + 1].begin_ns if at + 1 < len(self.phases) else self.length_ns
        return self.phases[at].begin_ns + within_ns, end


def scenario_of(workload: Workload) -> Scenario | None:
    """None if it is another kind of workload."""
    content = workload.threads and workload.threads.content
    return content if isinstance(content, Scenario) else None


# ---- what the guest is told


def plan_text(scenario: Scenario) -> str:
    """A capital letter begins a group of threads (G), the limits of a control group (L) or a change (E);
    each number that follows has a letter. What is left out is 0, or stays as it is."""
    return "".join(_entries(scenario))


def plan_fits(scenario: Scenario) -> str:
    """Why the plan is too large; empty if it is not."""
    most, length = PLAN_PIECE * len(PLAN_PARAMS), len(plan_text(scenario))
    if sum(group.threads for group in scenario.groups) > MOST_THREADS:
        return f"have more than {MOST_THREADS} threads"
    if len(scenario.changes) > MOST_CHANGES:
        return f"have more than {MOST_CHANGES} changes"
    if length > most:
        return f"have a plan of {length} characters, and the wire takes {most}: use fewer groups or changes"
    return ""


def plan_params(scenario: Scenario) -> Mapping[str, str]:
    """The text in pieces, by parameter."""
    text = plan_text(scenario)
    pieces = [text[at : at + PLAN_PIECE] for at in range(0, len(text), PLAN_PIECE)]
    return {name: pieces[at] if at < len(pieces) else NOTHING for at, name in enumerate(PLAN_PARAMS)}


def _entries(scenario: Scenario) -> Iterator[str]:
    kinds, policies = list(WorkKind), list(RunPolicy)
    for group in scenario.groups:
        operand = group.count or group.every_ns // US
        yield _entry(
            "G",
            t=group.threads,
            k=kinds.index(group.work) or None,
            r=group.turns,
            o=operand or None,
            b=group.begin_ns // US or None,
            e=None if group.end_ns is None else group.end_ns // US,
            **_settings(group.settings, policies),
        )
    for control in scenario.controls:
        yield _entry("L", **_limits(control.limits))
    for change in scenario.changes:
        yield _entry(
            "E",
            t=change.at_ns // US,
            g=None if change.group is None else change.group,
            l=None if change.control is None else change.control + 1,
            x=change.cpu if change.state is CpuState.OFFLINE else None,
            u=change.cpu if change.state is CpuState.ONLINE else None,
            **_settings(change.settings, policies),
            **{name: value for name, value in _limits(change.limits).items() if value is not None},
        )


def _settings(of: ThreadSettings, policies: list[RunPolicy]) -> Mapping[str, int | None]:
    result = {
        "n": None if of.nice is None else of.nice + NICE_ZERO,
        "s": None if of.policy is None else policies.index(of.policy),
        "y": of.priority or None,
        "m": of.cpus or None,
        "c": of.into,
    }
    return {name: value for name, value in result.items() if value is not None}


def _limits(of: Limits) -> Mapping[str, int | None]:
    return {
        "w": of.weight or None,
        "q": None if of.quota_ns is None else of.quota_ns // US,
        "d": of.period_ns // US or None,
        "m": of.cpus or None,
    }


def _entry(kind: str, **numbers: int | None) -> str:
    return kind + "".join(f"{name}{value}" for name, value in numbers.items() if value is not None)
