"""The rules by which lanes qualify, and the screen that shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Accel, Lane
from benchgate.host import topology
from benchgate.host.accel import AccelProbe, ProbeState
from benchgate.host.capacity import Capacity
from benchgate.host.fitness import Host, fitness
from benchgate.session import doctor_screen
from benchgate.session.doctor_screen import Found, Row
from tests.unit.conftest import Tree, host_files

TCG = AccelProbe(Accel.TCG, ProbeState.USABLE, 5000.0, 0.1, "max", "5,000 million instructions per second")
KVM = AccelProbe(Accel.KVM, ProbeState.USABLE, 9000.0, 0.1, "host", "9,000 million instructions per second")
BAD = AccelProbe(Accel.KVM, ProbeState.PRESENT_UNUSABLE, 1.6, 1.2, "host", "3,125 times slower than tcg")
FOUND = Found("10.0.2", "6.12", "gcc 12", (True, "full"), {"run delay": True, "throttling": False})


def capacity(accel: Accel, cpus: int, ratio: float, low: float) -> Capacity:
    return Capacity(cpus, ratio, low, ratio + 0.05, accel, tuple(range(cpus)), ())


@pytest.fixture
def good(tree: Tree) -> Host:
    """Two whole cores on bare metal, and KVM that works."""
    found = topology.read(
        tree(host_files("0-3", {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"})), affinity=range(4)
    )
    sizes = {(accel, 2): capacity(accel, 2, 1.97, 1.93) for accel in Accel}
    return Host(found, (0, 1), {Accel.KVM: KVM, Accel.TCG: TCG}, sizes)


@pytest.mark.parametrize("lane", [Lane.KVM, Lane.TCG, Lane.NATIVE])
def test_a_good_host_qualifies(good: Host, lane: Lane) -> None:
    assert fitness(good, lane, 2, 1.6).qualifies


def test_kvm_that_emulates_does_not_qualify(good: Host) -> None:
    found = fitness(replace(good, probes={Accel.KVM: BAD, Accel.TCG: TCG}), Lane.KVM, 2, 1.6)
    assert (found.qualifies, found.reason) == (False, "present, unusable")


def test_an_accelerator_without_a_probe_does_not_qualify(good: Host) -> None:
    found = fitness(replace(good, probes={}), Lane.TCG, 2, 1.6)
    assert (found.qualifies, found.reason) == (False, "not probed")


@pytest.mark.parametrize("lane", [Lane.KVM, Lane.TCG, Lane.NATIVE])
def test_hyperthreads_of_one_core_do_not_qualify(good: Host, lane: Lane) -> None:
    found = fitness(replace(good, pins=(0, 2)), lane, 2, 1.6)
    assert (found.qualifies, found.reason) == (False, "the pins are hyperthreads of one core")


@pytest.mark.parametrize("lane", [Lane.KVM, Lane.TCG, Lane.NATIVE])
def test_a_hidden_topology_does_not_qualify(good: Host, lane: Lane, tree: Tree) -> None:
    hidden = topology.read(tree(host_files("0-3", {n: str(n) for n in range(4)}, flags="hypervisor")))
    found = fitness(replace(good, topology=hidden), lane, 2, 1.6)
    assert not found.qualifies
    assert "hide" in found.reason


def test_too_few_pins_do_not_qualify(good: Host) -> None:
    found = fitness(good, Lane.TCG, 4, 3.0)
    assert (found.qualifies, found.reason) == (False, "only 2 CPUs to pin to")


@pytest.mark.parametrize(("low", "qualifies"), [(1.679, False), (1.681, True)])
def test_capacity_needs_a_margin(good: Host, low: float, qualifies: bool) -> None:
    host = replace(good, capacities={(Accel.TCG, 2): capacity(Accel.TCG, 2, 1.9, low)})
    assert fitness(host, Lane.TCG, 2, 1.6).qualifies is qualifies


def test_capacity_that_was_not_measured_does_not_qualify(good: Host) -> None:
    host = replace(good, capacities={(Accel.KVM, 2): capacity(Accel.KVM, 2, 2.0, 2.0)})
    assert fitness(host, Lane.TCG, 2, 1.6).reason == "capacity not measured"


def test_the_instruction_clock_is_not_judged_by_cores(good: Host) -> None:
    with pytest.raises(ValueError, match="instruction clock"):
        fitness(good, Lane.INSN, 2, 1.9)


def test_the_screen(good: Host) -> None:
    text = doctor_screen.doctor_text(
        doctor_screen.doctor_facts(replace(good, probes={Accel.KVM: BAD, Accel.TCG: TCG}), FOUND)
    )
    assert text == (
        "benchgate doctor: what this host is good for\n"
        "cpus        0-3 online, 0-3 usable by this process; 1 socket, 2 cores, 4 threads (source: sysfs)\n"
        "threads     several hyperthreads per core\n"
        "pins        0,1 (default: one logical CPU per physical core); none of the pins is isolated\n"
        "kvm         present, unusable: 3,125 times slower than tcg\n"
        "tcg         usable: 5,000 million instructions per second\n"
        "capacity    1 CPU 1 (the unit); 2 CPUs 1.97 [1.93, 2.02] (kvm); 2 CPUs 1.97 [1.93, 2.02] (tcg)\n"
        "qemu        10.0.2\n"
        "linux       6.12\n"
        "compiler    gcc 12\n"
        "lane kvm    no: present, unusable\n"
        "lane tcg    2 CPUs yes: distinct physical cores, capacity 1.97; 4 CPUs no: only 2 CPUs to pin to\n"
        "lane native 2 CPUs yes: distinct physical cores; 4 CPUs no: only 2 CPUs to pin to\n"
        "lane insn   yes: full\n"
        "noise seen  run delay; unavailable: throttling\n"
    )


def test_the_screen_shows_the_isolation_of_the_pins(tree: Tree) -> None:
    files = host_files("0-3", {n: str(n) for n in range(4)}, isolated="2-3", manager="0-1", cgroup="0::/ci")
    root: Path = tree(files | {"sys/fs/cgroup/ci/cpuset.cpus.effective": "1-3"})
    host = Host(topology.read(root, affinity=(2, 3)), (2, 3), {}, {})
    (row,) = [row for row in doctor_screen.doctor_facts(host, FOUND) if row.label == "pins"]
    assert row.text.endswith("pins covered by isolcpus; cpuset 1-3; services confined to 0-1")


@pytest.mark.parametrize("count", [1, 16, 23, 60])
@pytest.mark.parametrize("length", [0, 30, 3000])
def test_any_rows_fit_on_one_screen(count: int, length: int) -> None:
    rows = [Row("label", "word " * (length // 5)) for _ in range(count)]
    lines = doctor_screen.doctor_text(rows).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert length < 3000 or any(line.endswith("...") for line in lines)
