"""The screen of doctor: its rows, and that they fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Accel
from benchgate.host import topology
from benchgate.host.fitness import Host
from benchgate.session import doctor_screen
from benchgate.session.doctor_screen import Found, Row
from tests.unit.conftest import Tree, host_files
from tests.unit.hosts import BAD, TCG, good_host

FOUND = Found(
    "10.0.2",
    "6.12",
    "gcc 12",
    (True, "full"),
    {"run delay": True, "throttling": False},
    "riscv64: QEMU 10.0.2",
)


@pytest.fixture
def good(tree: Tree) -> Host:
    return good_host(tree)


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
        "other CPUs  riscv64: QEMU 10.0.2\n"
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
