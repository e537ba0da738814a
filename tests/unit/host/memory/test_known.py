"""Figures with their basis, and how they are worded."""

from __future__ import annotations

import pytest

from benchgate.host.memory.known import Basis, Known, range_text, size_text
from tests.unit.host.memory.curves import KIB, MIB


@pytest.mark.parametrize(("value", "ns"), [(0.2, 1), (1.4, 1), (13.6, 14)])
def test_a_file_has_whole_nanoseconds_and_at_least_one(value: float, ns: int) -> None:
    assert Known(value, Basis.MEASURED, "").ns == ns


def test_sizes_and_ranges_have_no_more_digits_than_they_need() -> None:
    assert [size_text(size) for size in (2 * MIB, 1536 * KIB, 512)] == ["2 MiB", "1536 KiB", "0.5 KiB"]
    assert (range_text([3.04, 3.01]), range_text([7.2, 3.0])) == ("3.0 ns", "3.0 to 7.2 ns")
