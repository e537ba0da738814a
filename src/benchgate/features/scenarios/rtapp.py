"""Reads a workload of rt-app, the part of its JSON that a scenario can say too.

Takes the text and its path; gives a `Scenario` without gates. JSON is read as YAML, of which it is a part, so
that what is wrong has a line; comments of C are left out, as rt-app does. Fails with CatalogError for
whatever is not understood: events other than `run`, `sleep` and `timer`, several of a kind, phases, a number
of loops.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchgate.base.workload.metrics import SECOND_NS
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.yamlfile import Section
from benchgate.features.scenarios.scenario import (
    MOST_CPUS,
    MOST_GROUPS,
    REAL_TIME,
    US,
    RunPolicy,
    Scenario,
    ScenarioPhase,
    ThreadGroup,
    ThreadSettings,
    WorkKind,
    plan_fits,
)
from benchgate.features.scenarios.scenario_keys import IGNORED, RT_APP

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_POLICY = "SCHED_"
_CPUS = 2
"""How many CPUs the guest has if no task names one."""


def parse(text: str, path: Path) -> Scenario:
    plain = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text).replace("\t", " ")
    with yamlfile.collecting(yamlfile.parse(plain, path, RT_APP)) as top:
        with top.optional("global") as words:
            length = words.integer("duration") * SECOND_NS
            usual = _policy(words, "default_policy")
            for key in IGNORED:
                words.text(key)
        with top.optional("tasks") as tasks:
            names = tasks.keys()
            if not names or len(names) > MOST_GROUPS:
                top.refuse(f"has {len(names)} tasks; 1 to {MOST_GROUPS} are known", "tasks")
            groups = tuple(_group(name, tasks, usual) for name in names[:MOST_GROUPS])
        used = max((group.settings.cpus.bit_length() for group in groups), default=0)
        finds, phases = "what its gates say", (ScenarioPhase("start", 0),)
        scenario = Scenario(_plain(path.stem), finds, max(used, _CPUS), length, groups, phases=phases)
        if wrong := plan_fits(scenario):
            top.refuse(wrong, "tasks")
    return scenario


def _plain(name: str) -> str:
    result = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")
    return f"x{result}"[:32] if not result[:1].isalpha() else result[:32]


def _group(name: str, tasks: Section, usual: RunPolicy) -> ThreadGroup:
    with tasks.optional(name) as words:
        run, work, every = words.integer("run"), WorkKind.SPIN, 0
        words.integer("loop")
        if words.has("sleep") and words.has("timer"):
            words.refuse("is beside a `sleep`: only one of both is known", "timer")
        if words.has("sleep"):
            work, every = WorkKind.SLEEP, words.integer("sleep")
        elif words.has("timer"):
            with words.optional("timer") as timer:
                timer.text("ref")
                timer.choice("mode")
                work, every = WorkKind.BURST, timer.integer("period")
        settings = _settings(words, usual)
        return ThreadGroup(_plain(name), words.integer("instance"), work, run * US, every * US, 0, settings)


def _settings(words: Section, usual: RunPolicy) -> ThreadSettings:
    policy = _policy(words, "policy") if words.has("policy") else usual
    priority = words.integer("priority") if words.has("priority") else 0
    cpus = words.integers("cpus")
    if wrong := [cpu for cpu in cpus if not 0 <= cpu < MOST_CPUS]:
        words.refuse(f"has {wrong[0]}, and the guest has CPUs from 0 to {MOST_CPUS - 1}", "cpus")
        cpus = ()
    mask = sum(1 << cpu for cpu in set(cpus))
    if policy in REAL_TIME:
        if not priority >= 1:
            words.refuse(f"is {priority}, and of {policy} it is from 1 on", "priority")
        return ThreadSettings(policy=policy, priority=max(priority, 1), cpus=mask)
    if priority > 19:
        words.refuse(f"is {priority}, and a nice value is at most 19", "priority")
    plain = None if policy is RunPolicy.OTHER else policy
    return ThreadSettings(nice=priority or None, policy=plain, cpus=mask)


def _policy(words: Section, key: str) -> RunPolicy:
    text = words.text(key)
    known = {f"{_POLICY}{policy.upper()}": policy for policy in RunPolicy}
    if text not in known:
        words.refuse(f"`{text}` is none of {', '.join(known)}", key)
    return known.get(text, RunPolicy.OTHER)
