"""The caches of a draft: told, shown by the curve, or assumed."""

from __future__ import annotations

import dataclasses

import pytest

from contrib.calibration.curve import CapacityStep
from contrib.calibration.draft_figures import _rounded
from contrib.calibration.known import Basis
from contrib.calibration.tests.curves import KIB, MIB, THREE
from contrib.calibration.tests.madeup import MadeUp, told
from contrib.calibration.tests.test_draft import UNTOLD, made


def test_where_the_curve_contradicts_the_host_the_curve_counts() -> None:
    """A virtual machine that may use 6 of the 16 MiB."""
    part = (*THREE[:2], (6 * MIB, 14.0))
    draft = made(MadeUp(caches=part), told(is_virtual=True))
    size = draft.caches[3].size
    assert size.basis is Basis.MEASURED
    assert 5.6 * MIB < size.value < 8.1 * MIB
    assert size.value % (8 * 64) == 0
    (remark,) = [text for text in draft.remarks if text.startswith("l3:")]
    assert remark.startswith("l3: the host tells 16 MiB, but the curve's step is between ")
    assert "a virtual machine may be given a part of a cache only" in remark


@pytest.mark.parametrize(
    ("step", "whole", "expected"),
    [
        (CapacityStep(8 * MIB, 16 * MIB, 14_767 * KIB), 1024, 14 * MIB),
        (CapacityStep(90 * KIB, 107 * KIB, 99 * KIB), 768, 96 * KIB),
        (CapacityStep(94 * KIB, 97 * KIB, 94 * KIB), 1024, 96 * KIB),
        (CapacityStep(93 * KIB, 95 * KIB, 94 * KIB), 1024, 94 * KIB),
        (CapacityStep(100, 200, 130), 512, 512),
    ],
)
def test_a_measured_size_has_no_more_digits_than_the_step(
    step: CapacityStep, whole: int, expected: int
) -> None:
    assert _rounded(step, whole) == expected


def test_a_level_that_the_curve_does_not_show_is_left_out_and_named() -> None:
    draft = made(MadeUp(caches=THREE[:2]))
    assert [cach.name for cach in draft.caches] == ["l1d", "l1i", "l2"]
    assert "the host tells 3 levels of data caches; the curve has 2 steps" in draft.remarks
    assert draft.clusters_why == "told by the host: they share an L3"


@pytest.mark.parametrize(("ways", "expected"), [(8, 8), (12, 8), (4096, 128), (7, 4)])
def test_ways_that_do_not_divide_the_size_are_replaced(ways: int, expected: int) -> None:
    first, *others = told().caches
    draft = made(None, dataclasses.replace(told(), caches=(dataclasses.replace(first, ways=ways), *others)))
    known = draft.caches[0].ways
    assert known.value == expected
    assert (known.basis is Basis.TOLD) == (ways == 8)


def test_a_flat_curve_gives_assumed_caches() -> None:
    draft = made(MadeUp(caches=(), memory_ns=7.0), UNTOLD)
    assert [cach.name for cach in draft.caches] == ["l1d", "l1i", "l2"]
    assert {cach.size.basis for cach in draft.caches} == {Basis.ASSUMED}
    assert {cach.latency.basis for cach in draft.caches if cach.latency} == {Basis.ASSUMED}
    assert (draft.local.basis, draft.local.ns) == (Basis.ASSUMED, 7)


def test_two_sockets_with_two_nodes() -> None:
    halves = ((0, 1), (2, 3))
    told_so = dataclasses.replace(told(), l3_groups=halves, sockets=halves, nodes=halves)
    draft = made(MadeUp(clusters=halves), told_so)
    assert {key: figure.ns for key, figure in draft.transfers.items()} == {"cluster_ns": 26, "socket_ns": 91}
    assert draft.remote is not None
    assert (draft.remote.basis, 160 <= draft.remote.ns <= 164) == (Basis.MEASURED, True)
    assert (draft.sockets, draft.nodes) == (halves, halves)


def test_one_cpu_has_no_transfer() -> None:
    draft = made(None, told(1))
    assert draft.transfers == {}
    assert "transfers of lines: unavailable: this process may use one CPU only" in draft.remarks
    assert (draft.interrupt.basis, draft.interrupt.why) == (Basis.ASSUMED, "there is one CPU")


def test_pairs_that_could_not_be_measured_are_assumed() -> None:
    draft = made(MadeUp(busy=True))
    known = draft.transfers["cluster_ns"]
    assert (known.basis, known.ns) == (Basis.ASSUMED, 4)
    assert draft.interrupt.basis is Basis.ASSUMED
    assert any(remark.startswith("transfers between CPUs 0-1, ") for remark in draft.remarks)


def test_a_transfer_is_never_nearer_than_a_cache() -> None:
    slow = {frozenset(pair): 2.1 for pair in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))}
    draft = made(MadeUp(transfer_ns=slow))
    assert draft.transfers["cluster_ns"].ns == 4
    assert any("which the file has in its place" in remark for remark in draft.remarks)
