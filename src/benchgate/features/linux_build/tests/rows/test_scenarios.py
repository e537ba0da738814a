"""Each shipped scenario is passed by Linux's own scheduler, and failed by one that has the fault it names.

The faults are those of a scheduler in BPF that is written for this (../data/scx/scx_faulty.h). Without a
fault it passes what it fails with one, so it is the fault that is found. It knows no control groups, as most
schedulers in BPF: so it fails those scenarios as it is. The tests of scenarios have a fault of tern.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.build.fetch import inputs
from benchgate.features.linux_build.tools.schedulers import FAULTY, SOURCE, built
from benchgate.plan import catalog
from tests.ternkit import Bootkit

pytestmark = pytest.mark.scx
kit_of_scenarios = pytest.importorskip("benchgate.features.scenarios.tests.scenariokit")
missed, run_scenario = kit_of_scenarios.missed, kit_of_scenarios.run_scenario

SCX = {
    "spread": "stick",
    "fair": "starve",
    "throng": "starve-one",
    "pipes": "deaf",
    "chain": "deaf",
    "sleepers": "tail",
    "beats": "long",
    "yields": "starve",
    "arrival": "tail",
    "monopoly": "credit",
    "departure": "half",
    "calls": "kernel",
    "faults": "kernel",
    "nice": "flat",
    "renice": "old-weight",
    "idle_policy": "flat",
    "bound": "idle",
    "unbound": "half",
    "rebound": "home",
    "stays": "pong",
    "cpuset": "half",
    "unplug": "gone",
}
"""By scenario: the fault of the scheduler in BPF."""
NO_GROUPS = ("weights", "reweight", "crowd", "moving", "quota", "requota")
"""What a scheduler fails that knows no control groups."""
ALL = [f"scenario-{name}" for name in catalog.names("scenario")]


@pytest.fixture(scope="module")
def program() -> Path:
    return built() / FAULTY


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    return Bootkit(tmp_path_factory.mktemp("scenarios"), inputs.qemu(), True)


def faulty(program: Path, fault: str) -> str:
    return f"linux:source={SOURCE}:scx={program} {fault}"


def require_found_out(found: list[str]) -> None:
    """A record of threads that contradicts itself finds no fault of a scheduler."""
    assert found
    assert not any("threads.txt" in text for text in found), found


def test_every_scenario_has_a_scheduler_that_fails_it() -> None:
    assert {*SCX, *NO_GROUPS} == set(catalog.names("scenario"))


@pytest.mark.parametrize("name", ALL)
def test_scenarios_are_passed_by_linux(kit: Bootkit, name: str) -> None:
    assert missed(run_scenario(kit, "linux", name), name) == []


@pytest.mark.parametrize("name", SCX)
def test_scenarios_are_failed_with_the_fault(kit: Bootkit, program: Path, name: str) -> None:
    system = faulty(program, SCX[name])
    require_found_out(missed(run_scenario(kit, system, f"scenario-{name}"), f"scenario-{name}"))


@pytest.mark.parametrize("name", SCX)
def test_scenarios_are_passed_without_the_fault(kit: Bootkit, program: Path, name: str) -> None:
    system = faulty(program, "none")
    assert missed(run_scenario(kit, system, f"scenario-{name}"), f"scenario-{name}") == []


@pytest.mark.parametrize("name", NO_GROUPS)
def test_scenarios_of_control_groups_are_failed_by_one_without(
    kit: Bootkit, program: Path, name: str
) -> None:
    system = faulty(program, "none")
    require_found_out(missed(run_scenario(kit, system, f"scenario-{name}"), f"scenario-{name}"))
