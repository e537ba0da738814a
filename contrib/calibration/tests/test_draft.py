"""Machine files of made-up hosts: what is measured, told or assumed, and what is said about it."""

from __future__ import annotations

import dataclasses
import re

import pytest

from contrib.calibration.draft import Draft, draft
from contrib.calibration.host_description import HostDescription
from contrib.calibration.known import Basis
from contrib.calibration.survey import survey
from contrib.calibration.tests.curves import KIB, MIB
from contrib.calibration.tests.madeup import QUICK, MadeUp, told

UNTOLD = HostDescription((0, 1), (), (), (), ((0,), (1,)), (), False, "")


def made(host: MadeUp | None = None, has_told: HostDescription | None = None) -> Draft:
    asked = has_told or told()
    return draft(asked, survey(asked, QUICK, host or MadeUp(), lambda _: None))


def test_a_host_that_tells_the_truth() -> None:
    result = made()
    assert [(cach.name, cach.size.value, cach.size.basis) for cach in result.caches] == [
        ("l1d", 32 * KIB, Basis.TOLD),
        ("l1i", 64 * KIB, Basis.TOLD),
        ("l2", MIB, Basis.TOLD),
        ("l3", 16 * MIB, Basis.TOLD),
    ]
    assert [cach.latency.ns if cach.latency else None for cach in result.caches] == [None, None, 4, 14]
    assert (result.local.ns, result.local.basis) == (95, Basis.MEASURED)
    assert (result.clusters, result.sockets, result.nodes) == (((0, 1, 2, 3),),) * 3
    assert {key: figure.ns for key, figure in result.transfers.items()} == {"cluster_ns": 26}
    assert (round(result.atomic.value), result.interrupt.value) == (4, 800)
    assert result.bandwidth is not None
    assert result.bandwidth.value == pytest.approx(83.2)
    (remark,) = result.remarks
    assert re.search("^memory of another node, .*: unavailable: this host shows one node$", remark)


def test_a_host_that_tells_nothing() -> None:
    result = made(MadeUp(clusters=((0, 1),)), UNTOLD)
    sizes = {cach.name: cach.size for cach in result.caches}
    assert [sizes[name].basis for name in ("l1d", "l2", "l3")] == [Basis.MEASURED] * 3
    assert 32 * KIB <= sizes["l1d"].value < 40 * KIB
    assert (sizes["l1i"].basis, sizes["l1i"].value) == (Basis.ASSUMED, sizes["l1d"].value)
    assert {cach.ways.basis for cach in result.caches} == {Basis.ASSUMED}
    assert result.line.basis is Basis.ASSUMED
    assert "the host tells nothing about its caches (/sys/devices/system/cpu/*/cache)" in result.remarks
    assert result.sockets_why == result.nodes_why == "assumed: the host does not tell"


def test_small_pages_and_virtual_machines_are_named() -> None:
    result = made(MadeUp(huge_share=0.25), told(is_virtual=True))
    assert any(
        remark.startswith("the host gave huge pages for 25% of the memory only") for remark in result.remarks
    )
    assert any(remark.startswith("this is a virtual machine: ") for remark in result.remarks)
    assert result.sockets_why == "told by the host, which is virtual"
    assert result.interrupt.why.endswith("half of it is the receiver's; the hypervisor's part is in it")


def test_clusters_are_those_that_share_in_fact() -> None:
    """Told to share one L3, but what one half has loaded costs the other half as much as memory."""
    result = made(MadeUp(clusters=((0, 1), (2, 3))))
    assert result.clusters == ((0, 1), (2, 3))
    assert {key: figure.ns for key, figure in result.transfers.items()} == {"cluster_ns": 26, "across_ns": 91}
    assert result.clusters_why.startswith("measured: ")
    assert any(
        remark.startswith("the host tells that CPUs 0-3 share the last cache, but")
        for remark in result.remarks
    )


def test_cpus_whose_lines_move_fast_are_one_cluster() -> None:
    """Other work has evicted what CPU 0 had loaded for CPU 1."""
    fast = {frozenset((0, 1)): 22.0}
    result = made(MadeUp(clusters=((0,), (1,), (2, 3)), transfer_ns=fast))
    assert result.clusters == ((0, 1), (2, 3))
    assert result.clusters_why.endswith(", but lines move between 0 and 1 faster than from memory")


def test_clusters_of_cpus_that_are_not_successive_are_renumbered() -> None:
    host = MadeUp(clusters=((0, 2), (1, 3)))
    told_so = dataclasses.replace(told(), l3_groups=((0, 2), (1, 3)))
    result = made(host, told_so)
    assert (result.hosts, result.clusters) == ((0, 2, 1, 3), ((0, 1), (2, 3)))
    assert not any("share the last cache" in remark for remark in result.remarks)


def test_hyperthreads_are_no_transfer() -> None:
    """CPUs 0 and 1 are told to be one core; 2 and 3 are one, but the host hides it."""
    fast = {frozenset((0, 1)): 1.2, frozenset((2, 3)): 1.3}
    told_so = dataclasses.replace(told(), cores=((0, 1), (2,), (3,)))
    result = made(MadeUp(transfer_ns=fast), told_so)
    assert result.transfers["cluster_ns"].value == 26
    assert "over 4 pairs" in result.transfers["cluster_ns"].why
    assert any(
        remark.startswith("CPUs 2 and 3 are hyperthreads of one core, which the host")
        for remark in result.remarks
    )
    assert any(
        remark.startswith("CPUs 0-1, 2-3 share a core; a machine has no hyperthr")
        for remark in result.remarks
    )
