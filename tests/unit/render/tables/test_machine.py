"""The table of a machine shows what its file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.system.machines import Machine
from benchgate.plan import catalog
from benchgate.render.tables.machine import machine_table
from tests.unit.machines import BOTH, uneven, with_memory

SMALL = """
name: small
source: a test
cpus: 4
line: 64
l1d: {size: 32K, ways: 8}
l1i: {size: 32K, ways: 8}
l2: {size: 512K, ways: 8, latency_ns: 3}
clusters: ["0-1", "2-3"]
sockets: ["0-1", "2-3"]
nodes: [{cpus: "0-1", memory: 60}, {cpus: "2-3", memory: 40}]
memory: {local_ns: 80, remote_ns: 130}
transfer: {cluster_ns: 30, socket_ns: 120}
atomic_ns: 4
interrupt_ns: 500
tlb: {entries: 64, ways: 4, walk_ns: 10}
"""


def rows(machine: Machine | None) -> dict[str, str]:
    assert machine is not None
    result = {line[:10].strip(): line[11:] for line in machine_table(machine).splitlines()}
    assert len(result) == len(machine_table(machine).splitlines())
    return result


def test_every_figure_of_a_small_machine() -> None:
    assert rows(with_memory(SMALL, Path("small.yaml"))) == {
        "machine": "small: a test",
        "CPUs": "4; one instruction takes 1 ns; a hit in the first level takes no more",
        "L1d": "32 KiB, 8 ways, 64 sets of 64 bytes, 1 ns",
        "L1i": "32 KiB, 8 ways, 64 sets of 64 bytes, 1 ns",
        "L2": "512 KiB, 8 ways, 1,024 sets of 64 bytes, 3 ns",
        "clusters": "2: 0-1 | 2-3",
        "sockets": "2: 0-1 | 2-3",
        "node 0": "CPUs 0-1, 60% of the memory",
        "node 1": "CPUs 2-3, 40% of the memory",
        "memory": "80 ns, 130 ns from another node; no limit of bandwidth",
        "transfer": "30 ns within a cluster, 120 ns across sockets",
        "atomic": "4 ns more than a plain access",
        "interrupt": "500 ns for the CPU that takes it",
        "TLB": "64 entries, 4 ways, 10 ns for a walk",
    }


def test_cpus_of_different_speed_are_a_line_each() -> None:
    assert machine_table(uneven()).splitlines() == [
        "machine    uneven: invented",
        "CPUs       4; no memory system",
        "1024       CPUs 0,2; one instruction takes 1 ns",
        "512        CPUs 1; one instruction takes 2 ns",
        "300        CPUs 3; one instruction takes 3.413 ns",
    ]


def test_cpus_of_different_speed_with_a_memory_system_are_in_its_table() -> None:
    lines = machine_table(with_memory(BOTH, Path("both.yaml"))).splitlines()
    assert lines[1:4] == [
        "CPUs       4; a hit in the first level takes no more",
        "1024       CPUs 0,2; one instruction takes 1 ns",
        "512        CPUs 1; one instruction takes 2 ns",
    ]
    assert lines[5].startswith("L1d ")


@pytest.mark.parametrize("name", ["desktop8", "server2x16", "manycore64", "biglittle8mem"])
def test_a_shipped_machine_has_a_table(name: str) -> None:
    result = rows(catalog.memory_machine(name))
    assert result["machine"].startswith(f"{name}: ")
    assert " GB/s for each node" in result["memory"]


def test_one_cpu_has_no_transfer() -> None:
    alone = SMALL.replace("cpus: 4", "cpus: 1")
    for key in ("clusters", "sockets"):
        alone = alone.replace(f'{key}: ["0-1", "2-3"]', f'{key}: ["0"]')
    alone = alone.replace(', memory: 60}, {cpus: "2-3", memory: 40}', ", memory: 100}").replace(
        '"0-1"', '"0"'
    )
    alone = alone.replace("tlb: {entries: 64, ways: 4, walk_ns: 10}\n", "")
    result = rows(with_memory(alone, Path("alone.yaml")))
    assert (result["transfer"], result["TLB"]) == ("none: there is one CPU", "none")
