"""Facts that the host reports are in the envelope; the others are "unavailable"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.cells import Accel
from benchgate.host import envelope, topology
from benchgate.host.accel import AccelProbe, ProbeState
from tests.unit.conftest import Tree, host_files

REPORTED = {
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/system/clockevents/clockevent0/current_device": "lapic-deadline",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "intel_pstate",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1",
    "proc/meminfo": "MemTotal:       16000000 kB\nMemFree: 1 kB",
    "sys/class/dmi/id/bios_vendor": "Maker",
    "sys/class/dmi/id/bios_version": "1.0",
    "sys/class/dmi/id/sys_vendor": "Some Cloud",
    "sys/class/dmi/id/product_name": "c9.large",
    "dev/kmsg": "6,1,2,-;APIC: Switched APIC routing to: physical x2apic",
}


def collect(root: Path, **more: Any) -> dict[str, Any]:
    return envelope.collect(topology.read(root, affinity=(0, 1)), root=root, **more)


def test_reported_facts(tree: Tree) -> None:
    result = collect(tree(host_files("0-1", {0: "0", 1: "1"}, flags="hypervisor") | REPORTED), pins=(0, 1))
    assert (result["sockets"], result["cores"], result["threads"], result["topology_source"]) == (
        1,
        2,
        2,
        "sysfs",
    )
    assert (result["timer_source"], result["timer_event"]) == ("tsc", "lapic-deadline")
    assert result["frequency_policy"] == "intel_pstate, performance, boost off"
    assert result["memory_kib"] == 16_000_000
    assert (result["firmware"], result["device_model"]) == ("Maker 1.0", "Some Cloud c9.large")
    assert (result["provider"], result["instance"]) == ("Some Cloud", "c9.large")
    assert result["apic_mode"] == "physical x2apic"
    assert result["pins"] == [0, 1]


def test_bare_metal_has_no_provider(tree: Tree) -> None:
    result = collect(tree(host_files("0-1", {0: "0", 1: "1"}) | REPORTED))
    assert (result["provider"], result["instance"]) == ("unavailable", "unavailable")
    assert result["device_model"] == "Some Cloud c9.large"


def test_facts_that_are_not_reported_are_unavailable(tmp_path: Path) -> None:
    result = collect(tmp_path)
    own = {"threads", "online", "affinity", "topology_hidden", "hypervisor", "pins", "accelerators"}
    own |= {"kernel", "toolchain", "python", "isolation"}
    assert {name: value for name, value in result.items() if name not in own and value != "unavailable"} == {}
    assert set(result["isolation"].values()) == {"unavailable"}


def test_accelerators_have_their_reason(tmp_path: Path) -> None:
    probe = AccelProbe(Accel.KVM, ProbeState.ABSENT, None, None, None, "this host has no /dev/kvm")
    assert collect(tmp_path, probes=[probe])["accelerators"] == {
        "kvm": {
            "usable": False,
            "million_instructions_per_second": "unavailable",
            "boot_s": "unavailable",
            "cpu_model": "unavailable",
            "reason": "kvm: absent: this host has no /dev/kvm",
        }
    }


@pytest.mark.parametrize(
    ("log", "mode"),
    [
        ("Switched APIC routing to physical flat.", "physical flat"),
        ("x2apic enabled", "unavailable"),
        ("Switched APIC routing to: \x1b[31m", "unavailable"),
    ],
)
def test_the_apic_mode_in_the_kernels_log(tree: Tree, log: str, mode: str) -> None:
    assert envelope.apic_mode(tree({"dev/kmsg": log})) == mode


@pytest.mark.parametrize(("bit", "mode"), [(1 << 10, "x2apic"), (0, "xapic")])
def test_the_register_takes_precedence_over_the_log(tree: Tree, bit: int, mode: str) -> None:
    root = tree({"dev/cpu/0/msr": "", "dev/kmsg": REPORTED["dev/kmsg"]})
    value = (0xFEE00800 | bit).to_bytes(8, "little")
    (root / "dev/cpu/0/msr").write_bytes(bytes(0x1B) + value)
    assert envelope.apic_mode(root) == mode


def test_this_hosts_envelope_is_plain_json() -> None:
    result = envelope.collect(topology.read())
    assert json.loads(json.dumps(result)) == result
