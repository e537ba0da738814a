"""The written file is one that the reader takes, and says how every figure is known."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchgate.base.system.machines import Machine
from contrib.calibration import file_text
from contrib.calibration.draft import draft
from contrib.calibration.host_description import HostDescription
from contrib.calibration.survey import survey
from contrib.calibration.tests.curves import KIB, MIB, THREE
from contrib.calibration.tests.madeup import QUICK, MadeUp, told
from contrib.calibration.tests.test_draft import UNTOLD
from tests.unit.machines import with_memory

HALVES = ((0, 1), (2, 3))
THIRDS = ((0,), (1,), (2,))


def text(host: MadeUp, has_told: HostDescription) -> str:
    made = draft(has_told, survey(has_told, QUICK, host, lambda _: None))
    return file_text.text(made, "made_up", "a test's: 'quoted' # host", ["a first remark"])


def read(host: MadeUp, has_told: HostDescription) -> Machine:
    return with_memory(text(host, has_told), Path("made_up.yaml"))


def test_every_figure_arrives() -> None:
    machine = read(MadeUp(), told())
    assert (machine.name, machine.source, machine.cpus, machine.line) == (
        "made_up",
        "a test's: 'quoted' # host",
        4,
        64,
    )
    assert [
        (cache.size, cache.ways, cache.latency_ns) for cache in (machine.l1d, machine.l1i, machine.l2)
    ] == [
        (32 * KIB, 8, 1),
        (64 * KIB, 4, 1),
        (MIB, 8, 4),
    ]
    assert machine.l3 is not None
    assert (machine.l3.size, machine.l3.latency_ns) == (16 * MIB, 14)
    assert (machine.memory_local_ns, machine.bandwidth_gb_s) == (95, 83.2)
    assert (machine.transfer_cluster_ns, machine.atomic_ns, machine.interrupt_ns, machine.tlb) == (
        26,
        4,
        800,
        None,
    )


def test_two_nodes_arrive() -> None:
    machine = read(
        MadeUp(clusters=HALVES), dataclasses.replace(told(), l3_groups=HALVES, sockets=HALVES, nodes=HALVES)
    )
    assert (machine.clusters, machine.sockets) == (HALVES, HALVES)
    assert [(node.cpus, node.share) for node in machine.nodes] == [((0, 1), 50), ((2, 3), 50)]
    assert (machine.transfer_cluster_ns, machine.transfer_socket_ns) == (26, 91)
    assert 160 <= machine.memory_remote_ns <= 164


def test_three_nodes_share_all_memory() -> None:
    three = dataclasses.replace(told(3), l3_groups=THIRDS, sockets=THIRDS, nodes=THIRDS)
    assert [node.share for node in read(MadeUp(clusters=THIRDS), three).nodes] == [34, 33, 33]


@pytest.mark.parametrize(
    ("host", "has_told"),
    [
        (MadeUp(), UNTOLD),
        (MadeUp(), told(1)),
        (MadeUp(caches=THREE[:2]), told()),
        (MadeUp(caches=(), memory_ns=7.0), UNTOLD),
        (MadeUp(caches=(), memory_ns=7.0), told(1)),
        (MadeUp(busy=True, no_membarrier=True), told()),
        (MadeUp(clusters=((0, 2), (1, 3))), told()),
        (MadeUp(caches=(*THREE[:2], (6 * MIB, 14.0))), told(is_virtual=True)),
    ],
    ids=["untold", "one-cpu", "two-levels", "flat", "flat-one-cpu", "busy", "odd-even", "part-of-l3"],
)
def test_whatever_was_seen_the_file_is_good(host: MadeUp, has_told: HostDescription) -> None:
    assert read(host, has_told).cpus == len(has_told.cpus)


def test_every_key_has_a_comment_that_says_its_basis() -> None:
    lines = text(MadeUp(clusters=HALVES), told(is_virtual=True)).splitlines()
    assert max(map(len, lines)) <= 112
    assert "# - a first remark" in lines
    keys = (
        "line",
        "l1d",
        "l2",
        "l3",
        "clusters",
        "sockets",
        "local_ns",
        "bandwidth_gb_s",
        "across_ns",
        "atomic_ns",
    )
    for key in keys:
        at = next(n for n, line in enumerate(lines) if line.strip().startswith(f"{key}: "))
        above = " ".join(lines[max(at - 8, 0) : at])
        assert any(word in above for word in ("measured", "told by the host", "assumed")), key


def test_an_assumed_figure_says_from_what() -> None:
    result = text(MadeUp(), UNTOLD)
    assert "# l1i.size: assumed: as l1d: " in result
    assert "# line: assumed: " in result
