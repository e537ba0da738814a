"""speedup.svg: the ideal line, the points, the host, and no active content."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from benchgate.base.cells import Lane
from benchgate.base.gates import CapacityBound
from benchgate.render.files import speedup_svg
from tests.unit.factories import cell, rows, scaled_view, view

SVG = "{http://www.w3.org/2000/svg}"


def test_the_svg_has_the_ideal_line_the_points_and_the_host() -> None:
    seen = scaled_view(capacity={2: CapacityBound(Lane.TCG, 2, 1.94, 1.90, 1.97)})
    root = ET.fromstring(speedup_svg.render(seen))
    assert root.tag == f"{SVG}svg"
    titles = [one.text for one in root.iter(f"{SVG}title")]
    assert "smp2 1.934x PASS" in titles
    assert "host capacity 1.94x" in titles
    assert [one.get("class") for one in root.iter(f"{SVG}path")].count("ideal") == 1
    allowed = {"svg", "title", "style", "path", "text", "circle", "rect"}
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= allowed


def test_a_better_speedup_is_drawn_higher() -> None:
    def height(two: int) -> float:
        root = ET.fromstring(speedup_svg.render(view(*rows(cell(1), [200] * 5), *rows(cell(2), [two] * 5))))
        return float(next(root.iter(f"{SVG}circle")).get("cy") or "nan")

    assert height(100) < height(150) < height(300)
