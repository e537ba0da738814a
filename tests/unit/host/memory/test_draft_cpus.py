"""The CPUs of a draft: hyperthreads and clusters, told or measured."""

from __future__ import annotations

import dataclasses

from tests.unit.host.memory.madeup import MadeUp, told
from tests.unit.host.memory.test_draft import made


def test_clusters_are_those_that_share_in_fact() -> None:
    """Told to share one L3, but what one half has loaded costs the other half as much as memory."""
    found = made(MadeUp(clusters=((0, 1), (2, 3))))
    assert found.clusters == ((0, 1), (2, 3))
    assert {key: one.ns for key, one in found.transfers.items()} == {"cluster_ns": 26, "across_ns": 91}
    assert found.clusters_why.startswith("measured: ")
    assert any(
        one.startswith("the host tells that CPUs 0-3 share the last cache, but") for one in found.remarks
    )


def test_cpus_whose_lines_move_fast_are_one_cluster() -> None:
    """Other work has evicted what CPU 0 had loaded for CPU 1."""
    fast = {frozenset((0, 1)): 22.0}
    found = made(MadeUp(clusters=((0,), (1,), (2, 3)), transfer_ns=fast))
    assert found.clusters == ((0, 1), (2, 3))
    assert found.clusters_why.endswith(", but lines move between 0 and 1 faster than from memory")


def test_clusters_of_cpus_that_are_not_successive_are_renumbered() -> None:
    host = MadeUp(clusters=((0, 2), (1, 3)))
    told_so = dataclasses.replace(told(), l3_groups=((0, 2), (1, 3)))
    found = made(host, told_so)
    assert (found.hosts, found.clusters) == ((0, 2, 1, 3), ((0, 1), (2, 3)))
    assert not any("share the last cache" in one for one in found.remarks)


def test_hyperthreads_are_no_transfer() -> None:
    """CPUs 0 and 1 are told to be one core; 2 and 3 are one, but the host hides it."""
    fast = {frozenset((0, 1)): 1.2, frozenset((2, 3)): 1.3}
    told_so = dataclasses.replace(told(), cores=((0, 1), (2,), (3,)))
    found = made(MadeUp(transfer_ns=fast), told_so)
    assert found.transfers["cluster_ns"].value == 26
    assert "over 4 pairs" in found.transfers["cluster_ns"].why
    assert any(
        one.startswith("CPUs 2 and 3 are hyperthreads of one core, which the host") for one in found.remarks
    )
    assert any(
        one.startswith("CPUs 0-1, 2-3 share a core; a machine has no hyperthr") for one in found.remarks
    )
