"""Boots of scenarios, and which of their gates a run misses."""

from __future__ import annotations

from benchgate.base.system.systems import System
from benchgate.base.workload.workloads import Workload
from benchgate.features.scenarios.scenario import Scenario, scenario_of
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan import catalog
from tests.ternkit import Bootkit


def run_scenario(kit: Bootkit, system: System | str, workload: str | Workload) -> JudgedRun:
    result = catalog.load_workload(workload) if isinstance(workload, str) else workload
    return kit.run(system, workload, planned(result).cpus, threads=True)


def planned(workload: Workload) -> Scenario:
    scenario = scenario_of(workload)
    assert scenario is not None
    return scenario


def missed(judged: JudgedRun, workload: str) -> list[str]:
    """The gates of its file that this run misses; the reason if it is no result."""
    scenario = planned(catalog.load_workload(workload))
    if judged.verified is None:
        return [judged.reason]
    result = []
    for gate in scenario.gates:
        value = judged.verified.metrics[gate.name]
        if gate.at_least is not None and value < gate.at_least:
            result.append(f"{gate.name}: {value:g} is less than {gate.at_least:g}")
        if gate.at_most is not None and value > gate.at_most:
            result.append(f"{gate.name}: {value:g} is more than {gate.at_most:g}")
    return result
