"""What is measured on a made-up host, and what is said to be missing."""

from __future__ import annotations

import dataclasses

import pytest

from contrib.calibration.curve import CurvePoint
from contrib.calibration.host_description import HostDescription
from contrib.calibration.meter import MeterSample
from contrib.calibration.survey import SurveyResult, plan_for, points_of, sizes, survey
from contrib.calibration.tests.curves import KIB, MIB, THREE
from contrib.calibration.tests.madeup import FULL, QUICK, MadeUp, told


def seen(host: MadeUp, has_told: HostDescription | None = None) -> SurveyResult:
    return survey(has_told or told(), QUICK, host, lambda _: None)


def test_the_curve_that_decides_is_the_one_on_huge_pages() -> None:
    result = seen(MadeUp())
    assert (result.kind, set(result.curves)) == ("huge", {"huge"})
    assert [point.ns for point in result.points if point.size in (16 * KIB, 512 * KIB)] == [1.1, 3.8]


def test_without_huge_pages_the_chase_on_small_pages_decides() -> None:
    result = seen(MadeUp(huge_share=0.4))
    assert (result.kind, set(result.curves)) == ("small", {"huge", "small"})


def test_a_full_survey_has_every_kind_of_chase() -> None:
    host = MadeUp()
    result = survey(told(), FULL, host, lambda _: None)
    assert set(result.curves) == {"huge", "small", "local", "pages"}
    passes = {words[3]: words[5] for words in host.asked if words[0] == "chase"}
    assert passes == {"huge": "3", "small": "2", "local": "2", "pages": "2"}


def test_each_pair_is_measured_once() -> None:
    host = MadeUp()
    result = seen(host)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert list(result.transfers) == list(result.handovers) == list(result.shares) == pairs
    assert list(result.interrupts) == pairs[:3]
    assert (result.transfers[0, 1].value, result.transfers[0, 1].low, result.transfers[0, 1].high) == (
        26,
        25,
        27,
    )


def test_the_array_that_shows_sharing_fits_the_shared_cache_only() -> None:
    host = MadeUp()
    seen(host)
    (wanted,) = {int(words[4]) for words in host.asked if words[0] == "share"}
    assert MIB < wanted < 16 * MIB


def test_a_curve_without_a_shared_level_shows_no_sharing() -> None:
    assert seen(MadeUp(caches=THREE[:2])).shares == {}


def test_one_cpu_has_no_pairs() -> None:
    result = seen(MadeUp(), told(1))
    assert (result.transfers, result.interrupts, result.shares, result.missing) == ({}, {}, {}, ())
    assert list(result.streams) == [(0,)]


def test_pairs_that_gave_no_sample_are_named() -> None:
    result = seen(MadeUp(busy=True))
    assert result.transfers == {}
    assert result.missing[0].startswith("transfers between CPUs 0-1, 0-2, 0-3, 1-2, 1-3, 2-3: ")
    assert result.missing[1] == "interrupts from CPU 0 to 1: CPU 1 was busy with other work"


def test_a_kernel_without_membarrier_is_no_failure() -> None:
    result = seen(MadeUp(no_membarrier=True))
    assert result.interrupts == {}
    assert "the kernel refuses membarrier" in result.missing[0]


def test_two_nodes_have_remote_memory() -> None:
    two = dataclasses.replace(told(), nodes=((0, 1), (2, 3)))
    result = seen(MadeUp(), two)
    assert {nodes: spread.low for nodes, spread in result.remote.items()} == {(0, 1): 160.0, (1, 0): 160.0}
    assert list(result.streams) == [(0,), (0, 1), (2, 3)]


def test_progress_names_each_step() -> None:
    said: list[str] = []
    survey(told(2), QUICK, MadeUp(), said.append)
    assert [text for text in said if text.startswith("chase")] == [
        f"chase (huge): pass {number} of 3" for number in (1, 2, 3)
    ]
    assert "lines between CPUs 0 and 1: pair 1 of 1" in said


def test_the_sizes_contain_those_that_the_host_tells() -> None:
    odd = ((48 * KIB, 1.0), (1280 * KIB, 4.0), (24 * MIB, 12.0))
    host = told(caches=odd)
    code = dataclasses.replace(host.caches[1], size=84 * KIB)
    result = sizes(QUICK, dataclasses.replace(host, caches=(*host.caches, code)))
    assert {size for size, _ in odd} <= set(result)
    assert code.size not in result  # a cache for instructions is in no curve
    assert list(result) == sorted(set(result))
    assert (result[0], result[-1]) == (4 * KIB, 64 * MIB)
    assert all(size % (4 * KIB) == 0 for size in result)


@pytest.mark.parametrize(
    ("available", "quick", "largest"),
    [
        (1 << 40, False, 128 * MIB),
        (1 << 40, True, 64 * MIB),
        (256 * MIB, False, 64 * MIB),
        (0, True, 8 * MIB),
    ],
)
def test_the_largest_array_leaves_memory_to_others(available: int, quick: bool, largest: int) -> None:
    assert plan_for(told(), available, quick=quick).largest == largest


def test_streams_come_from_memory_and_leave_some_of_it() -> None:
    assert plan_for(told(), 1 << 40, quick=True).stream_bytes == 32 * MIB  # the last cache has 16
    assert plan_for(told(4), 256 * MIB, quick=True).stream_bytes == 16 * MIB
    assert plan_for(dataclasses.replace(told(), caches=()), 1 << 40, quick=True).stream_bytes == 256 * MIB


def test_a_host_that_tells_nothing_gets_large_arrays() -> None:
    nothing = dataclasses.replace(told(), caches=())
    assert plan_for(nothing, 1 << 40, quick=False).largest == 512 * MIB


def test_the_lowest_pass_counts() -> None:
    samples = [MeterSample("chase", 4096, ns) for ns in (3.0, 1.0, 9.0)] + [MeterSample("huge_share", 0, 1.0)]
    assert points_of(samples) == (CurvePoint(4096, 1.0, 3.0),)
