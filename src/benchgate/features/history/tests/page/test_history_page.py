"""The course of a figure over sessions: its axis has round labels that differ."""

from __future__ import annotations

import re

import pytest

from benchgate.features.history.page import history_page
from benchgate.features.history.tests.page.test_course_table import course


@pytest.mark.parametrize("medians", [[100.0] * 5, [975_702_930.0, 975_702_931.0, 975_702_932.0], [1.0, 9e9]])
def test_no_label_of_the_axis_is_there_twice(medians: list[float]) -> None:
    drawn = history_page.draw(course(medians))
    labels = re.findall(r'<text x="[^"]*" y="[^"]*" text-anchor="end">([^<]*)</text>', drawn)
    values = [label for label in labels if not label.startswith("2026-")]
    assert len(set(values)) == len(values) > 2


def test_the_grid_is_at_round_values() -> None:
    drawn = history_page.draw(course([103.0, 118.0, 127.0]))
    assert re.findall(r">(\d+) insn<", drawn) == ["90", "100", "110", "120", "130", "140"]


def test_the_least_and_the_largest_point_lie_inside() -> None:
    drawn = history_page.draw(course([103.0, 118.0, 127.0]))
    heights = [float(y) for y in re.findall(r'<circle cx="[^"]*" cy="([^"]*)"', drawn)]
    assert min(heights) > history_page.TOP
    assert max(heights) < history_page.HEIGHT - history_page.BOTTOM
