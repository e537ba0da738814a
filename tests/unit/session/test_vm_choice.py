"""Which clock decides with --clock both, on hosts that qualify for wall time and on others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchgate.base.cells import Accel, Lane
from benchgate.base.clocks import Clock
from benchgate.base.system.qemu import Qemu
from benchgate.host import accel, capacity, topology
from benchgate.host.accel import AccelProbe
from benchgate.host.capacity import Capacity
from benchgate.host.topology import HostTopology
from benchgate.insn.support import Support
from benchgate.plan.options import Options
from benchgate.session import vm_choice
from benchgate.session.measuring_host import ThisHost
from benchgate.session.vm_choice import VmChoice
from tests.unit import hosts
from tests.unit.conftest import Tree, host_files

QEMU = Qemu(Path("/q"), {}, (), (10, 0, 2), "d")
CORES = {0: "0", 1: "1", 2: "2", 3: "3"}


@dataclass
class Machine:
    """A host whose probes are written here."""

    seen: HostTopology
    low: float = 1.93
    carries: bool = True
    kvm: AccelProbe = hosts.KVM
    measured: list[tuple[Accel, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def probe(self, _: Qemu, which: Accel) -> AccelProbe:
        return {Accel.TCG: hosts.TCG, Accel.KVM: self.kvm}[which]

    def capacity(self, _: Qemu, probe: AccelProbe, pins: Sequence[int], cpus: int) -> Capacity:
        self.measured.append((probe.accel, cpus))
        assert len(pins) >= cpus
        return hosts.capacity(probe.accel, cpus, self.low + 0.04, self.low)

    def support(self, _: Qemu) -> Support:
        return Support(self.carries, "measured or refused")

    @property
    def place(self) -> ThisHost:
        made = ThisHost()
        vars(made)["topology"] = self.seen
        return made

    def choose(self, pins: tuple[int, ...] = (0, 1)) -> VmChoice:
        return vm_choice.choose_vm(QEMU, Options(clock="both"), self.place, pins, self.notes.append)


@pytest.fixture
def machine(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Four cores on bare metal with KVM."""
    made = Machine(topology.read(tree(host_files("0-3", CORES)), affinity=range(4)))
    monkeypatch.setattr(accel, "probe", made.probe)
    monkeypatch.setattr(capacity, "measure_capacity", made.capacity)
    monkeypatch.setattr(vm_choice, "support", made.support)
    monkeypatch.setattr(vm_choice, "prepare", lambda *_: Path("/plugin.so"))
    return made


def decision(choice: VmChoice) -> tuple[Clock, str]:
    assert choice.clocks is not None
    return choice.clocks.decides, choice.clocks.because


def test_wall_time_decides_on_a_host_that_qualifies(machine: Machine) -> None:
    choice = machine.choose()
    assert decision(choice) == (
        Clock.WALL,
        "this host qualifies for it (distinct physical cores, capacity 1.97)",
    )
    assert (list(choice.configs), choice.no_insn) == ([Lane.KVM, Lane.INSN], "")
    assert (choice.configs[Lane.KVM].clock, choice.configs[Lane.INSN].accel) == (None, Accel.TCG)
    assert choice.configs[Lane.INSN].clock is not None
    assert machine.measured == [(Accel.KVM, 2)]
    (note,) = machine.notes
    assert re.search(r"^wall time decides, .*\(distinct physical cores, capacity 1\.97\)$", note)


def test_the_instruction_clock_decides_without_the_capacity_for_the_thresholds(machine: Machine) -> None:
    machine.low = 1.67  # 1.05 times the threshold 1.6 is 1.68
    assert decision(machine.choose()) == (
        Clock.INSN,
        "wall time does not qualify: capacity 1.71 [1.67, 1.76] leaves no margin above 1.6",
    )
    machine.low = 1.69
    assert decision(machine.choose())[0] is Clock.WALL


def test_each_shipped_threshold_that_fits_the_pins_needs_its_capacity(machine: Machine) -> None:
    machine.low = 2.9  # enough for 2 CPUs, not for 3.0 at 4
    decides, because = decision(machine.choose((0, 1, 2, 3)))
    assert (decides, because.partition(": ")[2]) == (
        Clock.INSN,
        "capacity 2.94 [2.90, 2.99] leaves no margin above 3",
    )


def test_hyperthreads_are_known_before_any_capacity_is_measured(machine: Machine, tree: Tree) -> None:
    cores = {0: "0-1", 1: "0-1"}
    machine.seen = topology.read(tree(host_files("0-1", cores)), affinity=range(2))
    assert decision(machine.choose()) == (
        Clock.INSN,
        "wall time does not qualify: the pins are hyperthreads of one core",
    )
    assert machine.measured == []


def test_kvm_that_is_unusable_leaves_tcg_on_wall_time(machine: Machine) -> None:
    machine.kvm = hosts.BAD
    choice = machine.choose()
    assert (list(choice.configs), decision(choice)[0]) == ([Lane.TCG, Lane.INSN], Clock.WALL)
    assert machine.measured == [(Accel.TCG, 2)]


def test_without_the_instruction_clock_wall_time_decides_and_says_what_is_missing(machine: Machine) -> None:
    machine.carries, machine.low = False, 1.1
    choice = machine.choose()
    decides, because = decision(choice)
    assert decides is Clock.WALL
    assert "(measured or refused)" in because
    assert "capacity 1.14 [1.10, 1.19] leaves no margin above 1.6" in because
    assert list(choice.configs) == [Lane.KVM]
    assert choice.no_insn == "this QEMU cannot carry the instruction clock: measured or refused"


def test_the_looks_are_those_of_the_options(machine: Machine) -> None:
    clocks = machine.choose().clocks
    assert clocks is not None
    assert dict(clocks.looks) == {Clock.WALL: (5, 25), Clock.INSN: (5, 5)}
