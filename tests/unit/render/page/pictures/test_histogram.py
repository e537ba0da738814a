"""Outlines of histograms: shares, gaps, several systems."""

from __future__ import annotations

import re

from benchgate.render.page.pictures.histogram import HistogramShape, draw

TWO = HistogramShape(0, "linux", ((8.0, 9.0, 30), (64.0, 70.0, 10)), 40)


def test_the_height_is_the_share_of_the_values() -> None:
    picture = draw("wake", [TWO], lambda value: f"{value:g}")
    track = re.search(r'<path d="M([^"]+)" fill="currentColor"', picture)
    assert track is not None
    heights = [float(point.split()[1]) for point in track[1].split("L")]
    ground, top = max(heights), min(heights)
    assert heights.count(ground) == 4  # before, on both sides of the gap, after
    second = sorted(set(heights))[1]
    assert abs((ground - second) / (ground - top) - 10 / 30) < 0.01


def test_every_system_has_its_outline_and_an_empty_one_none() -> None:
    empty = HistogramShape(1, "own", (), 0)
    picture = draw("wake", [TWO, empty, HistogramShape(2, "tern", ((1.0, 2.0, 1),), 1)], str)
    assert re.findall(r'<g class="(s\d)">', picture) == ["s0", "s2"]
    assert "<path" not in draw("wake", [empty], str)
