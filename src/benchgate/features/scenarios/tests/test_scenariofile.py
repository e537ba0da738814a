"""Scenarios as YAML: the values that are read, the plan for the guest, and errors with file, line and key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError
from benchgate.base.workload.metrics import MetricDirection, MetricKind
from benchgate.features.scenarios.scenario import (
    PLAN_PIECE,
    RunPolicy,
    ScenarioGate,
    Subject,
    plan_params,
    plan_text,
    scenario_of,
)
from benchgate.features.scenarios.scenariofile import parse
from benchgate.plan import catalog

FILE = Path("mine.yaml")
WHOLE = """\
name: mine
finds: a fault
cpus: 4
length: 300ms
controls:
  few: {weight: 50, cpus: "0-1"}
groups:
  hogs: {threads: 3, work: spin, run: 40us, nice: 5, cpus: "0,2-3"}
  pings: {threads: 2, work: pipe, into: few, from: later, until: last}
  beats: {work: burst, every: 2ms, policy: fifo}
timeline:
  - phase: later
    at: 100ms
    changes:
      - {group: hogs, nice: -20, cpus: "1"}
      - {control: few, weight: 1000}
  - {phase: last, at: 200ms, changes: [{group: beats, into: few, policy: other}]}
gates:
  part: {of: share, group: hogs, among: [hogs, pings], phase: later, within: 20ms, at_least: 30%}
  even: {of: fairness, weights: {hogs: 3, beats: 1}, at_least: 0.9}
  wait: {of: latency, group: beats, percent: 99, at_most: 4ms}
  idle: {of: wasted, at_most: 1%}
  used: {of: cpus, group: hogs, at_least: 0.5, at_most: 1.5}
"""


def changed(old: str, new: str) -> str:
    assert WHOLE.count(old) == 1, old
    return WHOLE.replace(old, new)


def test_every_value_reaches_the_plan() -> None:
    scenario = parse(WHOLE, FILE)
    assert (scenario.cpus, scenario.length_ns, scenario.workers) == (4, 300_000_000, 7)
    # 40 us are 10,000 turns; nice values are written from 0 on: 5 is 25; 0,2-3 is 8 + 4 + 1
    assert plan_text(scenario) == (
        "Gt3r10000n25m13Gt2k3r5000b100000e200000c1Gt1k2r5000o2000s3y1"
        "Lw50m3"
        "Et100000g0n0m2Et100000l1w1000Et200000g2s0c1"
    )
    pieces = plan_params(scenario)
    assert "".join(pieces.values()).rstrip(".") == plan_text(scenario)
    assert [len(piece) for piece in pieces.values()][:2] == [PLAN_PIECE, 109 - PLAN_PIECE]


def test_phases_and_what_holds_in_them() -> None:
    scenario = parse(WHOLE, FILE)
    assert [(phase.name, phase.begin_ns) for phase in scenario.phases] == [
        ("start", 0),
        ("later", 100_000_000),
        ("last", 200_000_000),
    ]
    assert scenario.span("later", 5) == (100_000_005, 200_000_000)
    assert scenario.span("last") == (200_000_000, 300_000_000)
    assert [scenario.allowed(0, at) for at in (0, 99_999_999, 100_000_000)] == [0b1101, 0b1101, 0b0010]
    assert [scenario.allowed(2, at) for at in (0, 200_000_000)] == [0b1111, 0b0011]
    assert [scenario.control_of(2, at) for at in (0, 200_000_000)] == [None, 0]
    assert [list(scenario.members(group)) for group in range(3)] == [[0, 1, 2], [3, 4], [5]]
    assert scenario.changes[2].settings.policy is RunPolicy.OTHER


def test_a_quota_holds_until_it_is_changed() -> None:
    text = re.sub("  (wait|idle): .*\n", "", WHOLE).replace("weight: 50", "quota: 5ms")
    scenario = parse(text.replace("weight: 1000", "quota: 0ms"), FILE)
    assert scenario.has_quota
    assert not parse(WHOLE, FILE).has_quota
    assert [scenario.quota_of(0, at) for at in (0, 100_000_000)] == [(5_000_000, 20_000_000), (0, 0)]
    assert "Lq5000d20000m3" in plan_text(scenario)
    assert "l1q0E" in plan_text(scenario)


AWAY = """\
name: away
finds: a fault
cpus: 2
length: 400ms
groups:
  hogs: {threads: 3, work: spin}
timeline:
  - {phase: one, at: 100ms, changes: [{cpu: 1, state: offline}]}
  - {phase: two, at: 250ms, changes: [{cpu: 1, state: online}]}
gates:
  idle: {of: wasted, phase: two, within: 100ms, at_most: 1%}
"""


def test_a_cpu_goes_and_comes_back() -> None:
    scenario = parse(AWAY, FILE)
    assert plan_text(scenario) == "Gt3r5000Et100000x1Et250000u1"
    assert scenario.takes_cpus
    assert [scenario.allowed(0, at * 10**6) for at in (0, 99, 100, 249, 250)] == [3, 3, 1, 1, 3]
    # until 100 ms after a change the CPU is on its way
    whole = [(0, 100), (0, 101), (349, 400), (350, 400), (150, 200), (200, 240)]
    assert [scenario.is_whole(a * 10**6, b * 10**6) for a, b in whole] == [
        True,
        False,
        False,
        True,
        False,
        False,
    ]
    assert not parse(WHOLE, FILE).takes_cpus


def test_what_takes_cpus_away_needs_hotplug(tmp_path: Path) -> None:
    path = tmp_path / "any.yaml"
    path.write_text(AWAY)
    workload = catalog.load_workload(str(path))
    assert workload.needs[-3:] == ("control", "placement", "hotplug")
    assert workload.promises[-1].text == "syscalls.write >= 2"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("cpu: 1, state: offline", "cpu: 0, state: offline", "timeline.0.changes.0.cpu: is 0, not between 1"),
        ("cpu: 1, state: offline", "cpu: 2, state: offline", "cpu: is 2, and the guest has CPUs from 0 to 1"),
        ("cpu: 1, state: offline", "cpu: 1, state: gone", "state: is `gone`, not one of offline, online"),
        ("cpu: 1, state: offline", "cpu: 1", "changes.0.state: is missing"),
        ("cpu: 1, state: offline", "cpu: 1, state: online", "CPU 1 is online already at 100ms"),
        ("at: 250ms", "at: 199ms", "at least 100ms: that may take so long (the one at 100ms)"),
        ("length: 400ms", "length: 349ms", "at least 100ms: that may take so long (the one at 250ms)"),
        ("within: 100ms", "within: 99ms", "idle: a CPU is away in its time, or on its way"),
        ("phase: two, within", "phase: one, within", "a CPU that was taken away looks like an idle one"),
        ("work: spin", 'work: spin, cpus: "1"', "hogs may run on no CPU in phase one"),
    ],
)  # fmt: skip
def test_what_a_cpu_cannot_do_is_named(old: str, new: str, said: str) -> None:
    assert AWAY.count(old) == 1
    with pytest.raises(CatalogError) as caught:
        parse(AWAY.replace(old, new), FILE)
    assert said in str(caught.value), str(caught.value)


def test_gates_are_metrics() -> None:
    scenario = parse(WHOLE, FILE)
    assert scenario.gates[0] == ScenarioGate(
        "part", Subject.SHARE, "later", {"hogs": 1, "pings": 1}, 20_000_000, at_least=0.3
    )
    assert scenario.gates[1].weights == {"hogs": 3, "beats": 1}
    assert (scenario.gates[2].percent, scenario.gates[2].at_most) == (99.0, 4_000_000)


def test_a_file_is_a_workload_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "any.yaml"
    path.write_text(WHOLE)
    workload = catalog.load_workload(str(path))
    assert (workload.name, workload.program) == ("scenario-mine", "scenario")
    assert catalog.word_of(workload) == str(path)
    assert "control" in workload.needs
    assert workload.threads is not None
    assert (workload.threads.cpus, workload.threads.stops_threads) == (4, False)
    assert workload.threads.roles == (*["hogs"] * 3, *["pings"] * 2, "beats")
    metric = workload.metrics["part"]
    assert (metric.kind, metric.unit, metric.better) == (MetricKind.OBSERVED, "share", MetricDirection.MORE)
    assert (workload.metrics["wait"].unit, workload.metrics["idle"].better) == ("ns", MetricDirection.LESS)
    promised = [promise.text for promise in workload.promises]
    # three threads are reniced and bound, one gets a policy and a control group, and one group a limit
    assert promised[-4:] == [
        "syscalls.sched_setaffinity >= 3",
        "syscalls.setpriority >= 3",
        "syscalls.sched_setscheduler >= 1",
        "syscalls.write >= 2",
    ]


def test_shipped_ones_are_found_by_name() -> None:
    for name in catalog.names("scenario"):
        workload = catalog.load_workload(f"scenario-{name}")
        assert workload.name == catalog.word_of(workload) == f"scenario-{name}"
        scenario = scenario_of(workload)
        assert scenario is not None
        assert scenario.gates
        assert catalog.is_built_in_workload(workload.name)


def test_what_sets_nothing_needs_no_control(tmp_path: Path) -> None:
    path = tmp_path / "any.yaml"
    path.write_text(
        "name: plain\nfinds: a fault\ncpus: 2\nlength: 10ms\ngroups: {a: {work: spin}}\n"
        "gates: {idle: {of: wasted, at_most: 1}}\n"
    )
    assert "control" not in catalog.load_workload(str(path)).needs


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: mine", "name: Mine", "1: name: `Mine` is not a name"),
        ("finds: a fault\n", "", "finds: is missing"),
        ("cpus: 4\n", "cpus: 17\n", "3: cpus: is 17, not between 1 and 16"),
        ("300ms", "300", "4: length: `300` is not a length of time"),
        ("300ms", "11s", "4: length: is not between 1ms and 10s"),
        ("300ms", "200ms", "last|timeline.1.at: is not behind the phase before it, and before the end"),
        ("weight: 50", "quota: 10us", "6: controls.few.quota: is less than 1ms"),
        ("weight: 50", "period: 5ms", "6: controls.few.period: is of no quota"),
        ("weight: 50", "quota: 5ms, period: 2s", "6: controls.few.period: is not between 1ms and 1s"),
        ("weight: 50", "quota: 5ms", "gates: wait: is of waits, and there is a quota"),
        ("0-1", "0-4", "6: controls.few.cpus: `0-4` is no list of CPUs of the guest, from 0 to 3"),
        ("0-1", "x", "6: controls.few.cpus: not a list of CPUs"),
        ("threads: 3", "threads: 0", "8: groups.hogs.threads: is 0, not between 1 and 60"),
        ("work: spin", "work: spun", "8: groups.hogs.work: is `spun`, not one of spin, sleep"),
        ("work: spin", "work: spin, colour: red", "8: groups.hogs.colour: unknown key"),
        ("run: 40us", "run: 40us, run: 50us", "8: groups.hogs.run: is duplicated"),
        ("run: 40us", "run: 2s", "8: groups.hogs.run: is not between 1ns and 1s"),
        ("run: 40us", "every: 2ms", "8: groups.hogs.every: only sleep and burst have one"),
        ("every: 2ms, ", "", "10: groups.beats.every: is missing"),
        ("every: 2ms", "every: 2ms, count: 3", "10: groups.beats.count: only faults and calls have one"),
        ("nice: 5", "nice: 20", "8: groups.hogs.nice: is 20, not between -20 and 19"),
        ("nice: 5", "priority: 5", "8: groups.hogs.priority: only the policies fifo and rr have one"),
        ("threads: 2, work: pipe", "threads: 3, work: pipe", "threads: is 3, but the threads of a pipe are"),
        ("into: few, from", "into: fw, from", "9: groups.pings.into: there is no control group `fw`"),
        ("from: later, until: last", "from: soon", "9: groups.pings.from: there is no phase `soon`"),
        ("from: later, until: last", "from: last, until: later", "until: is no phase behind the one with"),
        ("at: 100ms", "at: 0ms", "timeline.0.at: is not behind the phase before it"),
        ("phase: last,", "phase: later,", "timeline.1.phase: `later` is the name of two phases"),
        ("{group: hogs, nice: -20", "{group: hog, nice: -20", "group: there is no group `hog`"),
        ("{control: few, weight: 1000", "{control: fw, weight: 1000", "there is no control group `fw`"),
        ('{group: hogs, nice: -20, cpus: "1"}', "{group: hogs}", "changes.0.(top)|: changes nothing"),
        ("{control: few, weight: 1000}", "{control: few, nice: 3}", "nice: unknown key"),
        ("at_least: 30%", "at_least: much", "gates.part.at_least: `much` is not a number, or percent"),
        (", at_least: 30%", "", "gates.part.at_least: is missing: at_least, at_most or both"),
        ("at_most: 4ms", "at_most: 4", "gates.wait.at_most: '4' is not a length of time"),
        ("within: 20ms", "within: 100ms", "gates: part: phase later ends before `within` has passed"),
        ("among: [hogs, pings]", "among: [pings, beats]", "are at least two groups, and that of the share"),
        ("among: [hogs, pings]", "among: [hogs, x]", "gates.part.among: there is no group `x`"),
        ("{hogs: 3, beats: 1}", "{hogs: 3, x: 1}", "gates.even.weights.x: there is no group of this name"),
        ("  idle: {of: wasted", "  wasted: {of: wasted", "`wasted` is a metric of every workload"),
        ("of: wasted", "of: waste", "is `waste`, not one of"),
        ('cpus: "0,2-3"', 'cpus: "2-3", into: few', "hogs may run on no CPU in phase start"),
        ("threads: 3", "threads: 59", "groups: have more than 60 threads"),
        ("groups:\n", "groups: []\nothers:\n", "groups: expected a mapping"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(old: str, new: str, said: str) -> None:
    first, _, second = said.partition("|")
    with pytest.raises(CatalogError) as caught:
        parse(changed(old, new), FILE)
    assert str(FILE) in str(caught.value)
    assert first in str(caught.value) or (second and second in str(caught.value)), str(caught.value)


def test_a_plan_that_is_too_long_for_the_wire_is_refused() -> None:
    change = '{group: hogs, nice: 1, cpus: "1"}'
    step = "  - {{phase: p{0}, at: {0}ms, changes: [{1}]}}\n"
    lines = "".join(step.format(number, change) for number in range(1, 17))
    text = re.sub(r"timeline:\n(?:  .*\n)+", f"timeline:\n{lines}", WHOLE).replace("at: 16ms", "at: 16ms")
    text = text.replace("from: later, until: last", "from: p1").replace("phase: later, within", "within")
    with pytest.raises(CatalogError, match="16 phases, at most 15 are known"):
        parse(text, FILE)
    fewer = text.replace(step.format(16, change), "")
    with pytest.raises(CatalogError, match=r"have a plan of [0-9]+ characters, and the wire takes 256"):
        parse(fewer, FILE)
