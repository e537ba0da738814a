"""The mathematics of capacity, against scipy and by hand."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from scipy import stats

from benchgate.errors import HostError
from benchgate.host import capacity
from benchgate.host.accel import AccelProbe
from benchgate.host.capacity import CapacityPair
from benchgate.model import Accel


def pair(alone: float, *together: float) -> CapacityPair:
    return CapacityPair(alone, together)


def test_two_whole_cores_are_two() -> None:
    assert pair(0.2, 0.2, 0.2).ratio == 2.0


def test_two_hyperthreads_are_less() -> None:
    assert pair(0.2, 0.3, 0.25).ratio == pytest.approx(0.2 / 0.3 + 0.2 / 0.25)


@pytest.mark.parametrize("times", [(0.0, (0.1, 0.1)), (0.1, (0.1, -1.0)), (0.1, ())])
def test_a_pair_without_times_is_no_pair(times: tuple[float, tuple[float, ...]]) -> None:
    with pytest.raises(ValueError, match="positive"):
        CapacityPair(*times)


def test_five_pairs_are_bounded_by_lowest_and_highest() -> None:
    pairs = [pair(1.0, 1 / r, 1 / r) for r in (0.9, 0.7, 1.0, 0.8, 0.6)]
    found = capacity.estimate(Accel.TCG, (3, 5), pairs)
    assert (found.cpus, found.pins) == (2, (3, 5))
    assert (found.low, found.ratio, found.high) == pytest.approx((1.2, 1.6, 2.0))


def test_an_even_count_takes_the_middle() -> None:
    pairs = [pair(1.0, 1 / r, 1 / r) for r in (0.6, 0.7, 0.8, 0.9)]
    assert capacity.estimate(Accel.TCG, (0, 1), pairs).ratio == pytest.approx(1.5)


@pytest.mark.parametrize("pairs", range(5, 60))
def test_the_bounds_err_as_rarely_as_said_and_no_rarer_than_needed(pairs: int) -> None:
    rank = capacity.bound_rank(pairs)
    # The bound is wrong if more than pairs - rank - 1 of them lie on its side of the median.
    assert stats.binom.cdf(rank, pairs, 0.5) <= capacity.ERROR
    assert stats.binom.cdf(rank + 1, pairs, 0.5) > capacity.ERROR


@pytest.mark.parametrize("pairs", range(1, 5))
def test_few_pairs_have_the_lowest_only(pairs: int) -> None:
    assert capacity.bound_rank(pairs) == 0


def test_one_cpu_is_the_unit() -> None:
    found = capacity.estimate(Accel.TCG, (4,), ())
    assert (found.cpus, found.low, found.ratio, found.high) == (1, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("pairs", [[], [pair(0.1, 0.1, 0.1, 0.1)], [pair(0.1, 0.1, 0.1), pair(0.1, 0.1)]])
def test_pairs_of_another_count_are_refused(pairs: list[CapacityPair]) -> None:
    with pytest.raises(ValueError, match="pairs of 2 guests"):
        capacity.estimate(Accel.TCG, (0, 1), pairs)


def test_no_more_guests_than_pins() -> None:
    probe = AccelProbe(Accel.TCG, True, 5000.0, 0.1, "max", "tcg: usable")
    with pytest.raises(ValueError, match="3 guests cannot be pinned one to one to 2 CPUs"):
        capacity.measure(_no_qemu(), probe, (0, 1), 3)


def test_an_unusable_accelerator_has_no_capacity() -> None:
    probe = AccelProbe(Accel.KVM, False, 1.6, 1.2, "host", "kvm: present, unusable: slow")
    with pytest.raises(HostError, match="kvm: present, unusable: slow"):
        capacity.measure(_no_qemu(), probe, (0, 1), 2)


def _no_qemu() -> Any:
    """Any look at it fails the test."""
    return mock.NonCallableMock(spec=[])
