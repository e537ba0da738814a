"""The times of a draft: measured, or assumed from the next nearer one."""

from __future__ import annotations

import dataclasses

from benchgate.host.memory.known import Basis
from tests.unit.host.memory.madeup import MadeUp, told
from tests.unit.host.memory.test_draft import made


def test_two_sockets_with_two_nodes() -> None:
    halves = ((0, 1), (2, 3))
    told_so = dataclasses.replace(told(), l3_groups=halves, sockets=halves, nodes=halves)
    found = made(MadeUp(clusters=halves), told_so)
    assert {key: one.ns for key, one in found.transfers.items()} == {"cluster_ns": 26, "socket_ns": 91}
    assert found.remote is not None
    assert (found.remote.basis, 160 <= found.remote.ns <= 164) == (Basis.MEASURED, True)
    assert (found.sockets, found.nodes) == (halves, halves)


def test_one_cpu_has_no_transfer() -> None:
    found = made(None, told(1))
    assert found.transfers == {}
    assert "transfers of lines: unavailable: this process may use one CPU only" in found.remarks
    assert (found.interrupt.basis, found.interrupt.why) == (Basis.ASSUMED, "there is one CPU")


def test_pairs_that_could_not_be_measured_are_assumed() -> None:
    found = made(MadeUp(busy=True))
    known = found.transfers["cluster_ns"]
    assert (known.basis, known.ns) == (Basis.ASSUMED, 4)
    assert found.interrupt.basis is Basis.ASSUMED
    assert any(one.startswith("transfers between CPUs 0-1, ") for one in found.remarks)


def test_a_transfer_is_never_nearer_than_a_cache() -> None:
    slow = {frozenset(pair): 2.1 for pair in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))}
    found = made(MadeUp(transfer_ns=slow))
    assert found.transfers["cluster_ns"].ns == 4
    assert any("which the file has in its place" in one for one in found.remarks)
