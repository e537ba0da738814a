"""Scenarios on guests: what a scheduler with a fault does to them, and directors and threads that lie."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.system.arch import ARCHITECTURES
from benchgate.base.workload.workloads import Workload
from benchgate.build.fetch import inputs
from benchgate.features.scenarios.tests.scenariokit import missed, planned, run_scenario
from benchgate.plan import catalog
from tests.ternkit import Bootkit

SPREAD, UNPLUG = "scenario-spread", "scenario-unplug"


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    return Bootkit(tmp_path_factory.mktemp("scenarios"), inputs.qemu(), True)


def test_tern_uses_all_cpus_and_with_a_fault_does_not(kit: Bootkit) -> None:
    assert missed(run_scenario(kit, "kernel", SPREAD), SPREAD) == []
    (why,) = missed(run_scenario(kit, "kernel:fault=crowd", SPREAD), SPREAD)
    assert why.startswith("idle: 0.7")  # three of four CPUs idle


def test_one_that_sets_something_has_the_program_that_can(kit: Bootkit) -> None:
    linux = catalog.load_system("linux")
    plain, sets = (kit.image(linux, catalog.load_workload(f"scenario-{name}")) for name in ("spread", "nice"))
    assert plain.initrd != sets.initrd


@pytest.mark.parametrize("name", catalog.names("scenario"))
def test_tern_says_which_scenarios_it_cannot_carry_out(name: str) -> None:
    workload = catalog.load_workload(f"scenario-{name}")
    scenario = planned(workload)
    said = catalog.load_system("kernel").refuses(workload, scenario.cpus)
    lacks = ["control"] if scenario.needs_control else []
    lacks += ["placement", "hotplug"] if scenario.takes_cpus else []
    assert said == (
        f"scenario-{name} needs {', '.join(lacks)}, which kernel does not have (`services` in its YAML)"
        if lacks
        else ""
    )


def other(tmp_path: Path, arch: str) -> Bootkit:
    return Bootkit(tmp_path / arch, inputs.qemu(guest=ARCHITECTURES[arch]), True)


@pytest.mark.parametrize("arch", ["riscv64", pytest.param("aarch64", marks=pytest.mark.long)])
def test_a_cpu_goes_and_comes_back_in_the_window(tmp_path: Path, arch: str) -> None:
    judged = run_scenario(other(tmp_path, arch), f"linux:arch={arch}", UNPLUG)
    assert missed(judged, UNPLUG) == []


@pytest.mark.long
def test_a_cpu_that_measures_itself_when_it_comes_back_makes_the_guest_not_quiet(tmp_path: Path) -> None:
    """So the boot of Linux on riscv64 leaves that out."""
    system = catalog.load_system("linux:arch=riscv64")
    words = system.boot.append
    assert words.count(MEASURES) == 1
    measures = replace(system, boot=replace(system.boot, append=words.replace(MEASURES, "")))
    judged = run_scenario(other(tmp_path, "riscv64"), measures, UNPLUG)
    assert "the guest was not quiet: tasks other than the workers" in judged.reason


@pytest.mark.long
def test_a_cpu_that_does_not_come_back_makes_the_run_no_result(tmp_path: Path) -> None:
    workload = lying(tmp_path / "sources", UNPLUG, "director.h", (SETS, STAYS_AWAY))
    judged = run_scenario(other(tmp_path, "riscv64"), "linux:arch=riscv64", workload)
    assert judged.reason == "4 CPUs were requested, but 3 came up"


MEASURES = ",check_unaligned_access_all_cpus"
SETS = "port_cpu_online((unsigned)plan_of(to, online ? 'u' : 'x'), online) != 0"
STAYS_AWAY = "!online && port_cpu_online((unsigned)plan_of(to, 'x'), 0) != 0"
LINUX = "linux:start=warm"
LIES = {
    "a group that begins too early": (
        "scenario-arrival",
        "kernel",
        "scenario.c",
        (".begin = start + plan_ticks(group, 'b'),", ".begin = start,"),
        "of group later ran for .* ns from 0 to 80,000,000 ns, outside of its phases",
    ),
    "an affinity that is not set": (
        "scenario-bound",
        LINUX,
        "director.h",
        ("port_allow_other(process, plan_of(to, 'm')) != 0", "plan_of(to, 'm') == 0"),
        "of group bound ran on CPU 1 for .*; from 0 ns on it may run on CPU 0 only",
    ),
    "a quota that is not set": (
        "scenario-quota",
        LINUX,
        "director.h",
        (".has_quota = plan_has(to, 'q'),", ".has_quota = 0,"),
        "control group capped ran for .* it may for at most 90,000,000",
    ),
    "a CPU that is not taken away": (
        "scenario-unplug",
        LINUX,
        "director.h",
        (SETS, "online > 1"),
        "of group threads ran on CPU 3 for .*; from 100,000,000 ns on it may run on CPU 0, 1, 2 only",
    ),
    "a nice value that is not changed": (
        "scenario-renice",
        LINUX,
        "director.h",
        ("port_nice(process, (int)to->of['n' - 'a'] - NICE_ZERO) != 0", "process == 0"),
        "the machine contradicts the guest: `syscalls.setpriority >= 1` does not hold",
    ),
}


def lying(folder: Path, name: str, file: str, edit: tuple[str, str]) -> Workload:
    workload = catalog.load_workload(name)
    shutil.copytree(workload.source.parent, folder)
    text = (folder / file).read_text()
    assert text.count(edit[0]) == 1
    (folder / file).write_text(text.replace(*edit))
    return replace(workload, source=folder / workload.source.name)


@pytest.mark.parametrize("lie", LIES)
def test_a_guest_that_lies_is_refused(kit: Bootkit, tmp_path: Path, lie: str) -> None:
    name, system, file, edit, said = LIES[lie]
    judged = run_scenario(kit, system, lying(tmp_path / "sources", name, file, edit))
    assert judged.verified is None
    assert re.search(said, judged.reason), judged.reason
