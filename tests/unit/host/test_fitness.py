"""The rules by which lanes qualify."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.cells import Accel, Lane
from benchgate.host import topology
from benchgate.host.fitness import Host, fitness
from tests.unit.conftest import Tree, host_files
from tests.unit.hosts import BAD, TCG, capacity, good_host


@pytest.fixture
def good(tree: Tree) -> Host:
    return good_host(tree)


@pytest.mark.parametrize("lane", [Lane.KVM, Lane.TCG, Lane.NATIVE])
def test_a_good_host_qualifies(good: Host, lane: Lane) -> None:
    assert fitness(good, lane, 2, 1.6).qualifies


def test_kvm_that_emulates_does_not_qualify(good: Host) -> None:
    result = fitness(replace(good, probes={Accel.KVM: BAD, Accel.TCG: TCG}), Lane.KVM, 2, 1.6)
    assert (result.qualifies, result.reason) == (False, "present, unusable")


def test_an_accelerator_without_a_probe_does_not_qualify(good: Host) -> None:
    result = fitness(replace(good, probes={}), Lane.TCG, 2, 1.6)
    assert (result.qualifies, result.reason) == (False, "not probed")


@pytest.mark.parametrize("lane", [Lane.KVM, Lane.TCG, Lane.NATIVE])
def test_hyperthreads_of_one_core_do_not_qualify(good: Host, lane: Lane) -> None:
    result = fitness(replace(good, pins=(0, 2)), lane, 2, 1.6)
    assert (result.qualifies, result.reason) == (False, "the pins are hyperthreads of one core")


@pytest.mark.parametrize("lane", [Lane.KVM, Lane.TCG, Lane.NATIVE])
def test_a_hidden_topology_does_not_qualify(good: Host, lane: Lane, tree: Tree) -> None:
    hidden = topology.read(tree(host_files("0-3", {n: str(n) for n in range(4)}, flags="hypervisor")))
    result = fitness(replace(good, topology=hidden), lane, 2, 1.6)
    assert not result.qualifies
    assert "hide" in result.reason


def test_too_few_pins_do_not_qualify(good: Host) -> None:
    result = fitness(good, Lane.TCG, 4, 3.0)
    assert (result.qualifies, result.reason) == (False, "only 2 CPUs to pin to")


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
