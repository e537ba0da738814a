"""The calculation of capacity, compared with scipy and with calculations by hand."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from scipy import stats

from benchgate.base.cells import Accel
from benchgate.base.errors import HostError
from benchgate.host import capacity
from benchgate.host.accel import AccelProbe, ProbeState
from benchgate.host.capacity import CapacityPair


def pair(alone: float, *together: float) -> CapacityPair:
    return CapacityPair(alone, together)


def test_two_full_cores_have_capacity_two() -> None:
    assert pair(0.2, 0.2, 0.2).ratio == 2.0


def test_two_hyperthreads_have_less() -> None:
    assert pair(0.2, 0.3, 0.25).ratio == pytest.approx(0.2 / 0.3 + 0.2 / 0.25)


@pytest.mark.parametrize("times", [(0.0, (0.1, 0.1)), (0.1, (0.1, -1.0)), (0.1, ())])
def test_a_pair_without_positive_times_is_refused(times: tuple[float, tuple[float, ...]]) -> None:
    with pytest.raises(ValueError, match="positive"):
        CapacityPair(*times)


def test_the_bounds_of_five_pairs_are_the_lowest_and_highest() -> None:
    pairs = [pair(1.0, 1 / r, 1 / r) for r in (0.9, 0.7, 1.0, 0.8, 0.6)]
    result = capacity.estimate(Accel.TCG, (3, 5), pairs)
    assert (result.cpus, result.pins) == (2, (3, 5))
    assert (result.low, result.ratio, result.high) == pytest.approx((1.2, 1.6, 2.0))


def test_an_even_number_of_pairs_uses_the_mean_of_the_middle_two() -> None:
    pairs = [pair(1.0, 1 / r, 1 / r) for r in (0.6, 0.7, 0.8, 0.9)]
    assert capacity.estimate(Accel.TCG, (0, 1), pairs).ratio == pytest.approx(1.5)


@pytest.mark.parametrize("pairs", range(5, 60))
def test_the_bounds_are_the_tightest_with_at_most_the_stated_error(pairs: int) -> None:
    rank = capacity.bound_rank(pairs)
    # The bound is wrong if more than pairs - rank - 1 of them are on its side of the median.
    assert stats.binom.cdf(rank, pairs, 0.5) <= 0.05
    assert stats.binom.cdf(rank + 1, pairs, 0.5) > 0.05


@pytest.mark.parametrize("pairs", range(1, 5))
def test_fewer_than_five_pairs_use_the_lowest(pairs: int) -> None:
    assert capacity.bound_rank(pairs) == 0


def test_one_cpu_has_capacity_one() -> None:
    result = capacity.estimate(Accel.TCG, (4,), ())
    assert (result.cpus, result.low, result.ratio, result.high) == (1, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("pairs", [[], [pair(0.1, 0.1, 0.1, 0.1)], [pair(0.1, 0.1, 0.1), pair(0.1, 0.1)]])
def test_pairs_with_another_number_of_guests_are_refused(pairs: list[CapacityPair]) -> None:
    with pytest.raises(ValueError, match="pairs of 2 guests"):
        capacity.estimate(Accel.TCG, (0, 1), pairs)


def test_more_guests_than_pins_are_refused() -> None:
    probe = AccelProbe(Accel.TCG, ProbeState.USABLE, 5000.0, 0.1, "max", "...")
    with pytest.raises(ValueError, match="3 guests cannot be pinned one to one to 2 CPUs"):
        capacity.measure_capacity(_no_qemu(), probe, (0, 1), 3)


def test_an_unusable_accelerator_has_no_capacity() -> None:
    probe = AccelProbe(Accel.KVM, ProbeState.PRESENT_UNUSABLE, 1.6, 1.2, "host", "slow")
    with pytest.raises(HostError, match="kvm: present, unusable: slow"):
        capacity.measure_capacity(_no_qemu(), probe, (0, 1), 2)


def _no_qemu() -> Any:
    """Fails the test if any attribute is read."""
    return mock.NonCallableMock(spec=[])


GIB = 1 << 30


@pytest.mark.parametrize(
    ("memory", "cpus", "free", "count"),
    [
        ("256M", 2, 24 * GIB, 2),
        ("256", 2, 24 * GIB, 2),
        ("256m", 64, 24 * GIB, 16),
        ("2G", 8, 10 * GIB, 2),
        ("1T", 8, 24 * GIB, 1),
        ("256M", 8, 0, 1),
        ("1G,slots=2,maxmem=4G", 8, 24 * GIB, 1),
        ("", 8, 24 * GIB, 1),
    ],
)
def test_cpus_and_half_the_free_memory_are_the_limits(memory: str, cpus: int, free: int, count: int) -> None:
    assert capacity.fitting(memory, cpus, free) == count


def test_this_host_has_room_for_one_guest() -> None:
    assert capacity.guests_at_once("256M") >= 1


def test_guests_kept_to_one_cpu_run_one_at_a_time() -> None:
    assert capacity.guests_at_once("16M", (0,)) == 1


def test_a_simulated_memory_needs_room_for_each_line() -> None:
    free = 10 << 30
    assert capacity.fitting("512M", 8, free) == 5
    assert capacity.fitting("512M", 8, free, line=64) == 1  # 512 MiB of lines need 1.6 GiB
