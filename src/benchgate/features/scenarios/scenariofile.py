"""Reads a scenario, of a YAML file or of rt-app's JSON, as a workload of its own.

Takes a path; gives a frozen `Workload` named `scenario-NAME`: the workload `scenario` with this plan, one
metric for each gate, and what the machine must have seen. Fails with CatalogError, which names file, line and
key: an unknown, missing or duplicate key, a wrong type, a group, phase or control group that does not exist,
CPUs that the guest does not have, or a plan that is too long for the wire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from benchgate.base.cells import ParamValue
from benchgate.base.text import suggestion
from benchgate.base.workload import witness
from benchgate.base.workload.metrics import (
    NS,
    OF_THREADS,
    SHARE,
    WINDOWS,
    Metric,
    MetricDirection,
    MetricKind,
    time_of,
)
from benchgate.base.workload.witness import COUNT, Promise
from benchgate.base.workload.workloads import ThreadPlan, Workload
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.keys import NAME
from benchgate.base.yaml.yaml_nodes import text_of
from benchgate.base.yaml.yamlfile import Section
from benchgate.features.scenarios import rtapp
from benchgate.features.scenarios.scenario import (
    COUNTED,
    HOTPLUG_NS,
    LOOK_LIKE_WAITING,
    LOOKS_IDLE,
    MOST_GROUPS,
    MOST_LIMITS,
    MOST_PHASES,
    PREFIX,
    REAL_TIME,
    TIMED,
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
    plan_fits,
    plan_params,
)
from benchgate.features.scenarios.scenario_keys import SCENARIO
from benchgate.host.procfs import cpu_list

JSON = ".json"
CONTROL = "control"
"""The service that a scenario needs which sets anything."""
HOTPLUG = ("placement", "hotplug")
"""Those that one needs which takes CPUs away: the function, and that a CPU comes back without much work."""
NOWHERE = "none"
SHORTEST_NS, LONGEST_NS = 1_000_000, 10_000_000_000
PERIOD_NS = 20_000_000
SHORTEST_PERIOD_NS, SHORTEST_QUOTA_NS = 1_000_000, 1_000_000
"""The kernel takes no shorter ones."""
LONGEST_ROUND_NS = 1_000_000_000
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?%?")
_Item = TypeVar("_Item")
_LESS_IS_BETTER = (Subject.LATENCY, Subject.WASTED, Subject.MOVES)
_UNITS: Mapping[str, str] = {Subject.LATENCY: NS, Subject.CPUS: "CPUs", Subject.MOVES: "/s"}
_ABOUT: Mapping[str, str] = {
    Subject.SHARE: "CPU time, as a part of that of these groups",
    Subject.FAIRNESS: "CPU time for its weight, the smallest over the largest",
    Subject.CPUS: "how many CPUs the group uses",
    Subject.LATENCY: "how long its threads wait for a CPU",
    Subject.WASTED: "the part of all CPUs' time that was idle although a thread waited that may run there",
    Subject.MOVES: "how often its threads come to another CPU, per second",
}


def is_one(path: Path) -> bool:
    """Whether a file is one: it is JSON, or has groups of threads and no program."""
    if path.suffix == JSON:
        return True
    keys = yamlfile.load(path, SCENARIO).keys()
    return "groups" in keys and "source" not in keys and "program" not in keys


def parse(text: str, path: Path) -> Scenario:
    with yamlfile.collecting(yamlfile.parse(text, path, SCENARIO)) as top:
        return _ScenarioReader(top).read()


def as_workload(scenario: Scenario, base: Workload, path: Path) -> Workload:
    """`base` is the workload `scenario`."""
    length = scenario.length_ns
    values: dict[str, ParamValue] = {**plan_params(scenario), "time_ns": length}
    params = {
        name: replace(spec, default=values[name], minimum=length, maximum=length)
        if name == "time_ns"
        else replace(spec, default=values[name], choices=(str(values[name]),))
        for name, spec in base.params.items()
    }
    return replace(
        base,
        name=f"{PREFIX}-{scenario.name}",
        file=path,
        params=params,
        quick={},
        about=f"finds {scenario.finds}",
        needs=(*base.needs, *_more_needs(scenario)),
        metrics={**base.metrics, **{gate.name: _metric(gate) for gate in scenario.gates}},
        promises=(*base.promises, *_promises(scenario)),
        threads=_thread_plan(scenario),
    )


def _thread_plan(scenario: Scenario) -> ThreadPlan:
    """The director, who makes the changes, has no role."""
    roles = (group.name for group in scenario.groups for _ in range(group.threads))
    return ThreadPlan(PREFIX, scenario.cpus, tuple(roles), scenario.has_quota, scenario)


def _more_needs(scenario: Scenario) -> Iterator[str]:
    if scenario.needs_control:
        yield CONTROL
    if scenario.takes_cpus:
        yield from HOTPLUG


def _metric(gate: ScenarioGate) -> Metric:
    is_less = gate.seen in _LESS_IS_BETTER or gate.at_most is not None
    better = MetricDirection.LESS if is_less else MetricDirection.MORE
    about = f"{_ABOUT[gate.seen]}, in phase {gate.phase}"
    unit = _UNITS.get(gate.seen, SHARE)
    return Metric(gate.name, MetricKind.OBSERVED, better, unit, of=gate.seen, at=gate.percent, about=about)


def _promises(scenario: Scenario) -> Iterator[Promise]:
    """What the director says that it did is system calls, which the machine counts."""
    sizes = [group.threads for group in scenario.groups]
    made = {"sched_setaffinity": 0, "setpriority": 0, "sched_setscheduler": 0, "write": 0}
    for change in scenario.changes:
        threads = 0 if change.group is None else sizes[change.group]
        to, limits = change.settings, change.limits
        made["sched_setaffinity"] += threads * bool(to.cpus)
        made["setpriority"] += threads * (to.nice is not None)
        made["sched_setscheduler"] += threads * (to.policy is not None)
        made["write"] += threads * (to.into is not None)
        made["write"] += bool(limits.weight) + (limits.quota_ns is not None) + bool(limits.cpus)
        made["write"] += change.cpu is not None
    for call, count in made.items():
        if count:
            claim = witness.parse(f"syscalls.{call} >= {count}", lambda _: COUNT)
            yield Promise("each change of the time line is made by calls", {}, (claim,))


class _ScenarioReader:
    def __init__(self, top: Section) -> None:
        self.top = top
        self.controls: tuple[ControlGroup, ...] = ()
        self.phases: tuple[ScenarioPhase, ...] = ()
        self.groups: tuple[ThreadGroup, ...] = ()
        self.cpus = 1
        self.length = 0

    def read(self) -> Scenario:
        top = self.top
        name, finds = top.text("name"), top.text("finds")
        top.text("about")
        self.cpus = top.integer("cpus")
        self.length = self._length(top, "length")
        if not SHORTEST_NS <= self.length <= LONGEST_NS:
            top.refuse("is not between 1ms and 10s", "length")
        self.controls = self._named(top, "controls", MOST_LIMITS, self._control)
        steps = top.sections("timeline")
        self.phases = self._phases(steps)
        self.groups = self._named(top, "groups", MOST_GROUPS, self._group)
        changes = tuple(change for step in steps for change in self._changes(step))
        gates = self._named(top, "gates", len(OF_THREADS) * 8, self._gate)
        scenario = Scenario(
            name, finds, self.cpus, self.length, self.groups, self.controls, self.phases, changes, gates
        )
        self._check(scenario)
        return scenario

    def _named(
        self, top: Section, key: str, most: int, read: Callable[[str, Section], _Item]
    ) -> tuple[_Item, ...]:
        with top.optional(key) as section:
            names = section.keys()
            if not names and key != "controls":
                top.refuse("is missing: there must be one", key)
            if len(names) > most:
                top.refuse(f"has {len(names)}, at most {most} are known", key)
            result = []
            for name in names[:most]:
                if not NAME.match(name):
                    section.refuse("is not a name: lower-case letters, digits and _", name)
                with section.optional(name) as words:
                    result.append(read(name, words))
            return tuple(result)

    # ---- values

    def _length(self, words: Section, key: str) -> int:
        text = words.text(key)
        try:
            return round(time_of(text))
        except ValueError:
            return 0  # the table's form has refused it

    def _optional_length(self, words: Section, key: str) -> int:
        return self._length(words, key) if words.has(key) else 0

    def _mask(self, words: Section) -> int:
        if not words.has("cpus"):
            return 0
        text = words.text("cpus")
        try:
            result = cpu_list(text)
        except ValueError as error:
            words.refuse(str(error), "cpus")
            return 0
        if not result or result[-1] >= self.cpus:
            words.refuse(f"`{text}` is no list of CPUs of the guest, from 0 to {self.cpus - 1}", "cpus")
            return 0
        return sum(1 << cpu for cpu in result)

    def _one_of(self, words: Section, key: str, known: Sequence[str], what: str) -> int:
        """The place of a name."""
        name = words.text(key)
        if name in known:
            return known.index(name)
        if not words.refused(key):
            there = f"there are {', '.join(known) or 'none'}"
            words.refuse(f"there is no {what} `{name}`; {suggestion(name, known, there)}", key)
        return 0

    def _group_of(self, words: Section) -> int:
        return self._one_of(words, "group", [group.name for group in self.groups], "group")

    def _settings(self, words: Section) -> ThreadSettings:
        policy = RunPolicy(words.choice("policy")) if words.has("policy") else None
        priority = words.integer("priority") if words.has("priority") else 0
        if priority and policy not in REAL_TIME:
            words.refuse("only the policies fifo and rr have one", "priority")
        into = None
        if words.has("into"):
            names = [NOWHERE, *(control.name for control in self.controls)]
            into = self._one_of(words, "into", names, "control group")
        nice = words.integer("nice") if words.has("nice") else None
        return ThreadSettings(
            nice, policy, priority or (1 if policy in REAL_TIME else 0), self._mask(words), into
        )

    def _limits(self, words: Section) -> Limits:
        quota = self._length(words, "quota") if words.has("quota") else None
        period = self._optional_length(words, "period")
        if quota:
            period = period or PERIOD_NS
        if quota and quota < SHORTEST_QUOTA_NS:
            words.refuse("is less than 1ms, the least that the kernel takes", "quota")
        if period and not SHORTEST_PERIOD_NS <= period <= 10**9:
            words.refuse("is not between 1ms and 1s", "period")
        if period and not quota:
            words.refuse("is of no quota", "period")
        weight = words.integer("weight") if words.has("weight") else 0
        return Limits(weight, quota, period, self._mask(words))

    # ---- parts

    def _control(self, name: str, words: Section) -> ControlGroup:
        return ControlGroup(name, self._limits(words))

    def _phases(self, steps: Sequence[Section]) -> tuple[ScenarioPhase, ...]:
        phases = [ScenarioPhase(self.top.text("begin"), 0)]
        if len(steps) >= MOST_PHASES:
            self.top.refuse(f"has {len(steps)} phases, at most {MOST_PHASES - 1} are known", "timeline")
        for step in steps[: MOST_PHASES - 1]:
            phase = ScenarioPhase(step.text("phase"), self._length(step, "at"))
            if not phases[-1].begin_ns < phase.begin_ns < self.length:
                step.refuse("is not behind the phase before it, and before the end", "at")
            if phase.name in [scenario_phase.name for scenario_phase in phases]:
                step.refuse(f"`{phase.name}` is the name of two phases", "phase")
            phases.append(phase)
        return tuple(phases)

    def _phase(self, words: Section, key: str) -> int:
        return self._one_of(words, key, [phase.name for phase in self.phases], "phase")

    def _group(self, name: str, words: Section) -> ThreadGroup:
        work, threads = WorkKind(words.choice("work")), words.integer("threads")
        run = self._length(words, "run")
        if not 0 < run <= LONGEST_ROUND_NS:
            words.refuse("is not between 1ns and 1s", "run")
        if work is WorkKind.PIPE and threads % 2:
            words.refuse(f"is {threads}, but the threads of a pipe are pairs", "threads")
        for key, kinds in (("every", TIMED), ("count", COUNTED)):
            if words.has(key) is not (work in kinds):
                said = "is missing" if work in kinds else f"only {' and '.join(kinds)} have one"
                words.refuse(said, key)
        every = self._optional_length(words, "every")
        count = words.integer("count") if words.has("count") else 0
        begin = self.phases[self._phase(words, "from")].begin_ns if words.has("from") else 0
        end = self.phases[self._phase(words, "until")].begin_ns if words.has("until") else None
        if end is not None and end <= begin:
            words.refuse("is no phase behind the one with which the group begins", "until")
        settings = self._settings(words)
        settings = replace(settings, into=settings.into or None)
        return ThreadGroup(name, threads, work, run, every, count, settings, begin, end)

    def _changes(self, step: Section) -> Iterator[ScenarioChange]:
        at = self._length(step, "at")
        for words in step.sections("changes"):
            change = self._change(at, words)
            words.close()
            yield change
        step.close()

    def _change(self, at: int, words: Section) -> ScenarioChange:
        if words.has("cpu"):
            return self._cpu_change(at, words)
        if words.has("control"):
            names = [group.name for group in self.controls]
            control = self._one_of(words, "control", names, "control group")
            change = ScenarioChange(at, control=control, limits=self._limits(words))
            is_empty = change.limits.is_empty
        else:
            change = ScenarioChange(at, group=self._group_of(words), settings=self._settings(words))
            is_empty = change.settings.is_empty
        if is_empty:
            words.refuse("changes nothing")
        return change

    def _cpu_change(self, at: int, words: Section) -> ScenarioChange:
        cpu = words.integer("cpu")
        if cpu >= self.cpus:
            words.refuse(f"is {cpu}, and the guest has CPUs from 0 to {self.cpus - 1}", "cpu")
        return ScenarioChange(at, cpu=cpu, state=CpuState(words.choice("state")))

    def _gate(self, name: str, words: Section) -> ScenarioGate:
        if name in WINDOWS or name in OF_THREADS:
            words.refuse(f"`{name}` is a metric of every workload; choose another name")
        seen = Subject(words.choice("of"))
        phase = self.phases[self._phase(words, "phase") if words.has("phase") else 0].name
        gate = ScenarioGate(
            name,
            seen,
            phase,
            self._weights(seen, words),
            self._length(words, "within"),
            words.number("percent") if seen is Subject.LATENCY else 100.0,
            *(self._bound(seen, words, key) for key in ("at_least", "at_most")),
        )
        if not (words.has("at_least") or words.has("at_most")):
            words.refuse("is missing: at_least, at_most or both", "at_least")
        return gate

    def _weights(self, seen: Subject, words: Section) -> Mapping[str, int]:
        names = [group.name for group in self.groups]
        if seen is Subject.WASTED:
            return {}
        if seen is Subject.FAIRNESS:
            with words.optional("weights") as section:
                given = section.keys()
                if not given:
                    words.refuse("is missing: groups, each with its weight", "weights")
                for name in given:
                    if name not in names:
                        section.refuse(f"there is no group of this name; {suggestion(name, names)}", name)
                return {name: section.integer(name) for name in given if name in names}
        first = names[self._group_of(words)] if names else ""
        among = words.texts("among") if seen is Subject.SHARE else ()
        if others := [name for name in among if name not in names]:
            words.refuse(f"there is no group `{others[0]}`; {suggestion(others[0], names)}", "among")
        if seen is Subject.SHARE:
            among = among or tuple(names)
            if first not in among or len(among) < 2:
                words.refuse("are at least two groups, and that of the share is one of them", "among")
        return dict.fromkeys((first, *among), 1)

    def _bound(self, seen: Subject, words: Section, key: str) -> float | None:
        if not words.has(key):
            return None
        text = words.text(key)
        if seen is not Subject.LATENCY:
            if not _NUMBER.fullmatch(text):
                words.refuse(f"`{text}` is not a number, or percent", key)
                return None
            return round(float(text[:-1]) / 100, 12) if text.endswith("%") else float(text)
        try:
            return time_of(text)
        except ValueError as error:
            words.refuse(str(error), key)
            return None

    # ---- what concerns the whole

    def _check(self, scenario: Scenario) -> None:
        if self.top.problems.collected:
            return
        if wrong := plan_fits(scenario):
            self.top.refuse(wrong, "groups")
        for gate in scenario.gates:
            begin, end = scenario.span(gate.phase, gate.within_ns)
            if begin >= end:
                self.top.refuse(f"{gate.name}: phase {gate.phase} ends before `within` has passed", "gates")
        for gate in scenario.gates if scenario.has_quota else ():
            if gate.seen in (Subject.LATENCY, Subject.WASTED):
                self.top.refuse(
                    f"{gate.name}: is of waits, and there is a quota: {LOOK_LIKE_WAITING}", "gates"
                )
        for gate in (one for one in scenario.gates if one.seen is Subject.WASTED):
            if not scenario.is_whole(*scenario.span(gate.phase, gate.within_ns)):
                self.top.refuse(
                    f"{gate.name}: a CPU is away in its time, or on its way, which takes up to "
                    f"{_ms(HOTPLUG_NS)}: {LOOKS_IDLE}",
                    "gates",
                )
        self._check_cpus(scenario)
        self._check_masks(scenario)

    def _check_cpus(self, scenario: Scenario) -> None:
        """The director waits until a CPU is away or back, and makes no other change meanwhile."""
        ends = [*(phase.begin_ns for phase in scenario.phases[1:]), scenario.length_ns]
        there = set(range(scenario.cpus))
        for change in scenario.changes:
            if change.cpu is None:
                continue
            comes = change.state is CpuState.ONLINE
            if comes is (change.cpu in there):
                self.top.refuse(
                    f"CPU {change.cpu} is {change.state} already at {_ms(change.at_ns)}", "timeline"
                )
            (there.add if comes else there.discard)(change.cpu)
            if min(end for end in ends if end > change.at_ns) < change.at_ns + HOTPLUG_NS:
                self.top.refuse(
                    f"a phase in which a CPU becomes {change.state} lasts at least {_ms(HOTPLUG_NS)}: that "
                    f"may take so long (the one at {_ms(change.at_ns)})",
                    "timeline",
                )

    def _check_masks(self, scenario: Scenario) -> None:
        """A thread whose CPUs and whose control group's have none in common is put anywhere by the kernel."""
        for number, group in enumerate(scenario.groups):
            for phase in scenario.phases:
                if not scenario.allowed(number, phase.begin_ns):
                    self.top.refuse(f"{group.name} may run on no CPU in phase {phase.name}", "groups")


def _ms(ns: int) -> str:
    return f"{ns / 10**6:g}ms"


def load(path: Path, base: Workload) -> Workload:
    read = rtapp.parse if path.suffix == JSON else parse
    return as_workload(read(text_of(path), path), base, path)
