"""Scales of pictures: round values, even columns, curves between them."""

from __future__ import annotations

import itertools

import pytest

from benchgate.render.page.pictures.frame import Frame, labels, short, ticks


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [
        (0.9, 1.0, (0.9, 0.92, 0.94, 0.96, 0.98, 1.0)),
        (0.0, 1730.0, (0.0, 500.0, 1000.0, 1500.0, 2000.0)),
        (0.0, 0.0, (0.0, 1.0)),
        (0.31, 1.02, (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)),
    ],
)
def test_an_axis_has_round_values_around_its_range(low: float, high: float, marks: tuple[float, ...]) -> None:
    assert ticks(low, high) == pytest.approx(marks)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.25, "0.25"), (97.5, "97.5"), (1500, "1,500"), (9999, "9,999"), (12_000_000, "12M"), (0, "0"),
        (250_000, "250k"), (1e14, "100T"), (2e17, "2e+17"), (5e9, "5G"),
    ],
)  # fmt: skip
def test_a_value_of_an_axis_is_short(value: float, shown: str) -> None:
    assert short(value) == shown


@pytest.mark.parametrize(
    ("low", "high", "unit", "shown"),
    [
        (1_180_000, 1_420_000, "ns", ["1.1 ms", "1.2 ms", "1.3 ms", "1.4 ms", "1.5 ms"]),
        (999_000, 1_001_000, "ns", ["999.0 us", "999.5 us", "1,000.0 us", "1,000.5 us", "1,001.0 us"]),
        (1_948_523_700, 1_948_523_704, "insn", [f"1,948,523,{n:03} insn" for n in range(700, 705)]),
        (975e6, 1025e6, "insn", [f"{n:.2f}G insn" for n in (0.96, 0.98, 1.0, 1.02, 1.04)]),
        (0.90, 0.94, "", ["0.90", "0.91", "0.92", "0.93", "0.94"]),
        (1500.0, 1900.0, "MB/s", ["1,500 MB/s", "1,600 MB/s", "1,700 MB/s", "1,800 MB/s", "1,900 MB/s"]),
    ],
)
def test_labels_of_an_axis_differ_and_are_in_one_unit(
    low: float, high: float, unit: str, shown: list[str]
) -> None:
    result = labels(ticks(low, high, 4), unit)
    assert result == shown
    assert len(set(result)) == len(result)


def test_columns_are_even_and_a_curve_runs_between_them() -> None:
    frame = Frame((1, 2, 4, 32), (0.0, 1.0))
    places = [frame.x(cpus) for cpus in (1, 2, 4, 32)]
    steps = [b - a for a, b in itertools.pairwise(places)]
    assert steps == pytest.approx([frame.pitch] * 3)
    assert frame.x(2**0.5) == pytest.approx((places[0] + places[1]) / 2)
    assert frame.x(1) < frame.x(1.5) < frame.x(2) < frame.x(11) < frame.x(32)


def test_higher_values_are_higher_and_none_leaves_the_frame() -> None:
    frame = Frame((1,), (0.5, 1.0))
    assert frame.y(1.0) < frame.y(0.75) < frame.y(0.5)
    assert (frame.y(7), frame.y(-7)) == (frame.y(1.0), frame.y(0.5))
