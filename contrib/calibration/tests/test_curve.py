"""Levels and steps of curves whose steps are known, and files that do not fit them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from contrib.calibration.curve import (
    CacheStatement,
    CapacityStep,
    CurvePoint,
    curves_text,
    disagreements,
    envelope,
    fitting,
    levels,
    load_curves,
    parse_curves,
    steps,
)
from contrib.calibration.tests.curves import (
    KIB,
    MEMORY_NS,
    MIB,
    THREE,
    Caches,
    curve,
    disturbed,
    exclusive,
    gradual,
)

GOOD = (
    CacheStatement("l1d", 32 * KIB, None),
    CacheStatement("l2", MIB, 4),
    CacheStatement("l3", 16 * MIB, 14),
)


def check_steps(points: Sequence[CurvePoint], caches: Caches) -> None:
    capacity_steps = steps(points)
    assert len(capacity_steps) == len(caches)
    for edge, (capacity, _) in zip(capacity_steps, caches, strict=True):
        assert edge.low <= capacity <= edge.high


@pytest.mark.parametrize("an_octave", [2, 3, 4, 8])
def test_three_sharp_steps(an_octave: int) -> None:
    points = curve(an_octave=an_octave)
    check_steps(points, THREE)
    assert [level.ns for level in levels(points)] == [1.1, 3.8, 14.0, MEMORY_NS]
    assert all(edge.low <= edge.size <= edge.high <= 1.42 * edge.low for edge in steps(points))


def test_a_level_says_where_the_curve_is_flat() -> None:
    first, second, *_ = levels(curve())
    assert (first.first, first.last) == (4 * KIB, 32 * KIB)
    assert second.first > 32 * KIB
    assert second.last == MIB


@pytest.mark.parametrize("caches", [THREE, THREE[:2], ((48 * KIB, 1.0), (2 * MIB, 4.0), (32 * MIB, 12.0))])
def test_ramps_between_the_levels(caches: Caches) -> None:
    """A cache that does not replace in the order of use has no sharp edge, but its size is in the step."""
    points = curve(caches, shape=gradual)
    check_steps(points, caches)
    for level, (_, ns) in zip(levels(points), caches, strict=False):
        assert level.ns == pytest.approx(ns, rel=0.1)


@pytest.mark.parametrize("seed", range(20))
def test_disturbed_points_move_no_step(seed: int) -> None:
    points = disturbed(curve(), seed)
    check_steps(points, THREE)
    for level, ns in zip(levels(points), [1.1, 3.8, 14.0, MEMORY_NS], strict=True):
        assert level.low <= level.ns <= level.high
        assert ns <= level.ns <= 1.05 * ns


def test_a_disturbance_of_whole_regions_is_seen_in_the_interval() -> None:
    points = [
        CurvePoint(point.size, point.ns * (1.2 if n % 2 else 1.0), point.ns)
        for n, point in enumerate(curve())
    ]
    assert [level.high / level.low for level in levels(points)] == pytest.approx([1.2] * 4)


def test_without_steps_there_is_one_level() -> None:
    points = curve((), memory_ns=7.0)
    assert [level.ns for level in levels(points)] == [7.0]
    assert steps(points) == ()


def test_a_ramp_without_end_has_no_level() -> None:
    points = [CurvePoint(size, size / 1000, size / 1000) for size in range(4096, 4096 * 64, 4096)]
    assert levels(points) == ()
    assert steps(points) == ()


@pytest.mark.parametrize(("an_octave", "ledge"), [(8, 6), (1, 2)])
def test_a_short_ledge_in_a_ramp_is_no_level(an_octave: int, ledge: int) -> None:
    """Five eighths of an octave, and an octave with two points only."""
    ramp = [2.0**n for n in range(12)]
    heights = [*ramp[:6], *[ramp[6]] * ledge, *ramp[7:]]
    points = [CurvePoint(round(4096 * 2 ** (n / an_octave)), ns, ns) for n, ns in enumerate(heights)]
    assert levels(points) == ()


def test_a_slow_rise_is_one_level() -> None:
    """A TLB makes such a rise: 1.6 times over 8 octaves."""
    points = [CurvePoint(point.size, 90 * 1.06**n, 90.0) for n, point in enumerate(curve(an_octave=1)[:9])]
    assert len(levels(points)) == 1


def test_an_exclusive_cache_counts_with_those_inside() -> None:
    """Both kinds of hierarchy fit the same sizes, and only those."""
    told = ((256 * KIB, 1.1), (512 * KIB, 3.8), (2 * MIB, 14.0))
    for caches in (told, exclusive(told)):
        capacity_steps = steps(curve(caches, an_octave=8))
        assert len(capacity_steps) == len(told)
        inner = 0
        for edge, (size, _) in zip(capacity_steps, told, strict=True):
            assert fitting(edge, size, inner)
            assert not fitting(edge, 4 * size, inner)
            assert not fitting(edge, size // 4, 0)
            inner += size


def test_a_step_contains_its_ends() -> None:
    edge = CapacityStep(32, 64, 48)
    assert [edge.contains(size) for size in (31, 32, 64, 65)] == [False, True, True, False]


def test_the_envelope_never_falls() -> None:
    points = [CurvePoint(size, ns, ns) for size, ns in [(1, 2.0), (2, 9.0), (3, 2.5), (4, 3.0), (5, 2.9)]]
    assert envelope(points) == [2.0, 2.5, 2.5, 2.9, 2.9]


@pytest.mark.parametrize(
    "points", [[(2, 1.0), (1, 1.0)], [(1, 1.0), (1, 1.0)], [(1, 0.0)], [(1, float("nan"))]]
)
def test_points_that_are_no_curve_are_refused(points: list[tuple[int, float]]) -> None:
    with pytest.raises(ValueError, match="ascending sizes"):
        envelope([CurvePoint(size, ns, ns) for size, ns in points])


def test_a_right_file_of_exclusive_caches_agrees() -> None:
    told = ((256 * KIB, 1.1), (512 * KIB, 3.8), (2 * MIB, 14.0))
    stated = [CacheStatement(f"l{n}", size, ns) for n, (size, ns) in enumerate(told, 1)]
    assert disagreements(stated, 95, curve(exclusive(told), an_octave=8)) == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("an_octave", [2, 4])
def test_a_right_file_agrees(seed: int, an_octave: int) -> None:
    assert disagreements(GOOD, 95, disturbed(curve(an_octave=an_octave), seed)) == []


@pytest.mark.parametrize(
    ("place", "wrong", "expected"),
    [
        (0, CacheStatement("l1d", 64 * KIB, None), "l1d: 64 KiB, but the step is between 32 KiB and"),
        (0, CacheStatement("l1d", 16 * KIB, None), "l1d: 16 KiB, but the step is between 32 KiB and"),
        (1, CacheStatement("l2", 2 * MIB, 4), "l2: 2048 KiB, but the step is between "),
        (2, CacheStatement("l3", 32 * MIB, 14), "l3: 32768 KiB, but the step is between "),
        (1, CacheStatement("l2", MIB, 6), "l2: 6 ns, but the curve is at 3."),
        (2, CacheStatement("l3", 16 * MIB, 10), "l3: 10 ns, but the curve is at 14."),
    ],
)
def test_a_wrong_figure_is_named(place: int, wrong: CacheStatement, expected: str) -> None:
    stated = [*GOOD[:place], wrong, *GOOD[place + 1 :]]
    (message,) = disagreements(stated, 95, disturbed(curve(), 1))
    assert message.startswith(expected)


@pytest.mark.parametrize("memory_ns", [50, 140])
def test_a_wrong_latency_of_memory_is_named(memory_ns: int) -> None:
    (message,) = disagreements(GOOD, memory_ns, curve())
    assert message == f"memory: {memory_ns} ns, but the curve is at 95.00 ns (95.00 to 95.00)"


def test_a_level_too_few_or_too_many_is_named() -> None:
    few, *_ = disagreements(GOOD[:2], 95, curve())
    assert re.search(r"2 levels .*\(l1d 32 KiB, l2 1024 KiB\), the curve 3 steps \(32 KiB to", few)
    many, *_ = disagreements(GOOD, 95, curve(THREE[:2]))
    assert "the file has 3 levels" in many
    assert "the curve 2 steps" in many


def test_a_curve_without_levels_agrees_with_nothing() -> None:
    points = [CurvePoint(size, size / 1000, size / 1000) for size in range(4096, 4096 * 64, 4096)]
    assert disagreements(GOOD, 95, points) == ["the curve is nowhere flat, so it shows no level"]


CURVES = {
    "huge": (CurvePoint(4096, 1.0625, 1.125), CurvePoint(8192, 3.5, 4.0)),
    "small": (CurvePoint(4096, 1.0, 1.0),),
}
PATH = Path("host.csv")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "host.csv"
    path.write_text(curves_text(CURVES, "huge"))
    assert load_curves(path) == CURVES


def test_the_kind_that_decides_comes_first() -> None:
    assert list(parse_curves(curves_text(CURVES, "small"), PATH)) == ["small", "huge"]
    assert curves_text(CURVES, "huge").splitlines()[:2] == [
        "kind,bytes,ns,typical_ns",
        "huge,4096,1.0625,1.1250",
    ]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("", r"host.csv:1: expected `kind,bytes,ns,typical_ns`"),
        ("a,b\n", r"host.csv:1: expected"),
        ("kind,bytes,ns,typical_ns\n", r"host.csv: has no points"),
        ("kind,bytes,ns,typical_ns\nhuge,4096,1.0\n", r"host.csv:2: `huge,4096,1.0` is not a point"),
        ("kind,bytes,ns,typical_ns\nhuge,x,1.0,1.0\n", r"host.csv:2: `huge,x,1.0,1.0` is not a point"),
        ("kind,bytes,ns,typical_ns\nhuge,4096,0,1.0\n", r"host.csv:2: sizes must ascend"),
        ("kind,bytes,ns,typical_ns\nhuge,4096,inf,1.0\n", r"host.csv:2: sizes must ascend"),
        ("kind,bytes,ns,typical_ns\nhuge,2,1,1\nhuge,1,1,1\n", r"host.csv:3: sizes must ascend"),
    ],
)
def test_another_file_is_refused(raw: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_curves(raw, PATH)


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent.csv: cannot be read: No such file"):
        load_curves(tmp_path / "absent.csv")
